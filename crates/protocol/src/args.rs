//! [`Args`]: the arguments of a script.

use std::fmt::Display;
use std::io::Write as _;

/// The arguments of a script, in one buffer.
#[derive(Default)]
pub(crate) struct Args {
    buffer: Vec<u8>,
    ends: Vec<usize>,
}

impl Args {
    pub(crate) fn slices(&self) -> Vec<&[u8]> {
        let starts = [0].iter().chain(&self.ends);
        starts.zip(&self.ends).map(|(start, end)| &self.buffer[*start..*end]).collect()
    }

    /// Their size in bytes.
    #[cfg(feature = "queue")]
    pub(crate) fn len(&self) -> usize {
        self.buffer.len()
    }

    pub(crate) fn bytes(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.buffer.extend_from_slice(bytes.as_ref());
        self.ends.push(self.buffer.len());
        self
    }

    /// Without a buffer of its own: a call has thousands.
    pub(crate) fn shown(mut self, shown: impl Display) -> Self {
        // Writing to memory cannot fail.
        let _ = write!(self.buffer, "{shown}");
        self.ends.push(self.buffer.len());
        self
    }

    pub(crate) fn number(self, number: u64) -> Self {
        self.shown(number)
    }

    pub(crate) fn size(self, size: usize) -> Self {
        self.shown(size)
    }
}
