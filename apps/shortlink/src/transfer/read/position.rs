//! [`Position`]: a position in a file that is being read.

use super::lines::Line;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A position in a file, with a digest of everything before it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Bytes before it.
    pub offset: u64,
    /// Lines before it.
    pub line: u64,
    /// The chained digests of all lines before it, to detect a changed file.
    digest: [u8; 32],
}

impl Position {
    /// Advances past `line`.
    pub(super) fn pass(&mut self, line: &Line) {
        self.offset = line.end;
        self.line = line.number;
        self.digest = Sha256::new().chain_update(self.digest).chain_update(line.digest).finalize().into();
    }
}
