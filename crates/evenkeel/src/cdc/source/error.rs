//! Why a source cannot go on.

use super::Position;
use std::fmt;

/// Why a part of the history is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GapCause {
    /// There is no checkpoint yet.
    New,
    /// The log from the checkpoint on was purged.
    Purged,
    /// Another server, database, slot or table has the place of the source.
    OtherSource,
    /// The source is behind the checkpoint: it was restored, or a failover lost commits.
    RolledBack,
    /// The log has another group than the checkpoint's at its place.
    AnchorMismatch,
    /// The replication slot is gone, invalid, or further than the checkpoint.
    SlotLost,
    /// The server says that events are missing in its log.
    Incident,
    /// Rows were changed that the log does not name: `TRUNCATE`, a statement logged as text.
    Unnamed,
}

impl GapCause {
    /// Its name in tables, metrics and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Purged => "purged",
            Self::OtherSource => "other_source",
            Self::RolledBack => "rolled_back",
            Self::AnchorMismatch => "anchor_mismatch",
            Self::SlotLost => "slot_lost",
            Self::Incident => "incident",
            Self::Unnamed => "unnamed",
        }
    }
}

/// A named gap: changes that this source cannot return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Why.
    pub cause: GapCause,
    /// What was expected and what was found.
    pub detail: String,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.cause.as_str(), self.detail)
    }
}

/// Why a source returned nothing.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The server cannot be reached, or closed the connection. A new start may succeed.
    #[error("the source cannot be read now: {0}")]
    Unavailable(String),
    /// A setting, a privilege or a table is missing. A new start fails until somebody changes that.
    #[error("the source is refused: {what}. {remedy}")]
    Refused {
        /// What is missing.
        what: String,
        /// The statement, or the line of a file, that repairs it.
        remedy: String,
    },
    /// History is lost.
    #[error("history is missing: {0}")]
    Gap(Gap),
    /// The log has something at this position that the source cannot decode. A new start meets it again.
    #[error("the log cannot be decoded at {position}: {what}. {remedy}")]
    Unreadable {
        /// Where.
        position: Position,
        /// What was found.
        what: String,
        /// What to do.
        remedy: String,
    },
}
