//! What may be said about a spool before it is opened.

use super::error::SpoolError;
use std::time::Duration;

/// What may be said about a spool before it is opened. All of it has defaults.
#[derive(Clone, Debug)]
#[must_use = "options do nothing until a spool is opened with them"]
pub struct SpoolOptions {
    pub(super) bytes_max: u64,
    pub(super) segment_bytes: u64,
    pub(super) fsync: Fsync,
    pub(super) when_full: WhenFull,
}

/// When the file is forced to the disk. Whatever it says, nothing that was acknowledged is lost when the *process* dies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fsync {
    /// Before an obligation is acknowledged. Those that arrive while the disk works share the next call. A power cut loses nothing.
    #[default]
    Always,
    /// So long after it was written. A power cut loses what came in since.
    Every(Duration),
    /// When the operating system likes.
    Never,
}

/// What happens to an obligation that finds the spool full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// It is refused at once with [`SpoolError::Full`].
    #[default]
    Refuse,
    /// Its caller waits for room, for at most so long; then it is refused.
    Block(Duration),
}

impl Default for SpoolOptions {
    fn default() -> Self {
        Self { bytes_max: 64 << 20, segment_bytes: 4 << 20, fsync: Fsync::default(), when_full: WhenFull::default() }
    }
}

impl SpoolOptions {
    /// How many bytes of obligations may wait at once. Default 64 MiB. They are held in memory, too. The files take up to twice
    /// this and two segments, because what is done goes with its segment only.
    pub fn bytes_max(mut self, bytes: u64) -> Self {
        self.bytes_max = bytes;
        self
    }

    /// From how many bytes on a new segment (file) is begun. Default 4 MiB. A single obligation may not be larger than this.
    pub fn segment_bytes(mut self, bytes: u64) -> Self {
        self.segment_bytes = bytes;
        self
    }

    /// When the file is forced to the disk. Default [`Fsync::Always`].
    pub fn fsync(mut self, fsync: Fsync) -> Self {
        self.fsync = fsync;
        self
    }

    /// What happens to an obligation that finds the spool full. Default [`WhenFull::Refuse`].
    pub fn when_full(mut self, when_full: WhenFull) -> Self {
        self.when_full = when_full;
        self
    }

    /// Refuses what cannot work, in one sentence.
    pub(super) fn check(&self) -> Result<(), SpoolError> {
        let reject = |reason: &str| Err(SpoolError::Settings { reason: reason.to_owned() });
        if !(256..=1 << 30).contains(&self.segment_bytes) {
            return reject("`segment_bytes` must be between 256 bytes and 1 GiB");
        }
        if self.bytes_max < self.segment_bytes {
            return reject("`bytes_max` must be at least `segment_bytes`, or no segment could ever be filled");
        }
        if self.fsync == Fsync::Every(Duration::ZERO) {
            return reject("`Fsync::Every` needs a span above zero; before every answer is `Fsync::Always`");
        }
        Ok(())
    }
}
