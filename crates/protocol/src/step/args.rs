//! [`Args`]: the arguments of a script.

use std::fmt::Display;
use std::io::Write as _;

/// The arguments of a script, in one buffer.
#[derive(Default)]
pub struct Args {
    buffer: Vec<u8>,
    ends: Vec<usize>,
}

impl Args {
    /// Each of them.
    #[must_use]
    pub fn slices(&self) -> Vec<&[u8]> {
        let starts = [0].iter().chain(&self.ends);
        starts.zip(&self.ends).map(|(start, end)| &self.buffer[*start..*end]).collect()
    }

    /// Their size in bytes.
    pub(super) fn len(&self) -> usize {
        self.buffer.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub(super) fn bytes_of_all(&self) -> &[u8] {
        &self.buffer
    }

    /// Adds bytes or text.
    #[must_use]
    pub fn bytes(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.buffer.extend_from_slice(bytes.as_ref());
        self.ends.push(self.buffer.len());
        self
    }

    /// Adds a value as its text, without a buffer of its own: a call has thousands.
    #[must_use]
    pub fn shown(mut self, shown: impl Display) -> Self {
        // Writing to memory cannot fail.
        let _ = write!(self.buffer, "{shown}");
        self.ends.push(self.buffer.len());
        self
    }

    /// Adds a number.
    #[must_use]
    pub fn number(self, number: u64) -> Self {
        self.shown(number)
    }

    /// Adds a size.
    #[must_use]
    pub fn size(self, size: usize) -> Self {
        self.shown(size)
    }
}
