//! The settings of a spool.

use super::error::SpoolError;
use std::time::Duration;

/// The settings of a spool. All of them have defaults.
#[derive(Clone, Debug)]
#[must_use = "options do nothing until a spool is opened with them"]
pub struct SpoolOptions {
    pub(super) bytes_max: u64,
    pub(super) segment_bytes: u64,
    pub(super) fsync: Fsync,
    pub(super) when_full: WhenFull,
}

/// When the file is synced to the disk. Under every policy, acknowledged effects survive the death of the *process*.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fsync {
    /// Before an effect is acknowledged. Effects that arrive during a sync share the next one. A power failure loses
    /// nothing.
    #[default]
    Always,
    /// This long after it was written. A power failure loses what was stored since the last sync.
    Every(Duration),
    /// When the operating system decides.
    Never,
}

/// What happens to an effect when the spool is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// It is rejected at once with [`SpoolError::Full`].
    #[default]
    Refuse,
    /// Its caller waits for space, for at most this long; then it is rejected.
    Block(Duration),
}

impl Default for SpoolOptions {
    fn default() -> Self {
        Self { bytes_max: 64 << 20, segment_bytes: 4 << 20, fsync: Fsync::default(), when_full: WhenFull::default() }
    }
}

impl SpoolOptions {
    setters! {
        /// The maximum size of all pending effects in bytes. Default 64 MiB. They are also held in memory. After each write the
        /// files take up to twice this and two segments, because space is freed by whole segments.
        pub fn bytes_max(bytes: u64) => bytes_max = bytes;

        /// The size from which a new segment (file) is started. Default 4 MiB. A single effect may not be larger than this.
        pub fn segment_bytes(bytes: u64) => segment_bytes = bytes;

        /// When the file is synced to the disk. Default [`Fsync::Always`].
        pub fn fsync(fsync: Fsync) => fsync = fsync;

        /// What happens to an effect when the spool is full. Default [`WhenFull::Refuse`].
        pub fn when_full(when_full: WhenFull) => when_full = when_full;
    }

    /// Rejects invalid settings; the error is one sentence.
    pub(super) fn check(&self) -> Result<(), SpoolError> {
        let reject = |reason: &str| Err(SpoolError::Settings { reason: reason.to_owned() });
        if !(256..=1 << 30).contains(&self.segment_bytes) {
            return reject("`segment_bytes` must be between 256 bytes and 1 GiB");
        }
        if self.bytes_max < self.segment_bytes {
            return reject(
                "`bytes_max` must be at least `segment_bytes`, or the spool would be full before its first segment",
            );
        }
        if self.fsync == Fsync::Every(Duration::ZERO) {
            return reject(
                "`Fsync::Every` needs a duration above zero; to sync before every acknowledgment use `Fsync::Always`",
            );
        }
        Ok(())
    }
}
