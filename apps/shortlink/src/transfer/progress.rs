//! Where an import stands.

use super::lines::Line;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A place in a file, and what everything before it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Bytes before it.
    pub offset: u64,
    /// Lines before it.
    pub line: u64,
    /// The digests of all lines before it, chained: the file is the same up to here if this is the same.
    digest: [u8; 32],
}

impl Position {
    /// Moves behind `line`.
    pub(super) fn pass(&mut self, line: &Line) {
        self.offset = line.end;
        self.line = line.number;
        self.digest = Sha256::new().chain_update(self.digest).chain_update(line.digest).finalize().into();
    }
}

/// How many rows came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// New links.
    pub created: u64,
    /// Rows that were there already.
    pub present: u64,
    /// Bad lines.
    pub rejected: u64,
}

impl Counts {
    /// All rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.created + self.present + self.rejected
    }
}

/// What a checkpoint holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Progress {
    pub(super) position: Position,
    pub(super) counts: Counts,
    /// How long the file of rejected lines was.
    pub(super) rejected_bytes: u64,
}
