//! [`Counts`] and [`Progress`]: the state of an import.

use super::read::Position;
use serde::{Deserialize, Serialize};

/// The number of rows by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// New links.
    pub created: u64,
    /// Rows whose link already existed.
    pub present: u64,
    /// Rejected lines.
    pub rejected: u64,
}

impl Counts {
    /// All rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.created + self.present + self.rejected
    }

    /// The rows after `earlier`.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        Self {
            created: self.created - earlier.created,
            present: self.present - earlier.present,
            rejected: self.rejected - earlier.rejected,
        }
    }
}

/// The state in a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Progress {
    pub(super) position: Position,
    pub(super) counts: Counts,
    /// The length of the file of rejected lines.
    pub(super) rejected_bytes: u64,
}
