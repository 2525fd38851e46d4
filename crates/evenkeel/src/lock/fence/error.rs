//! Why work under a fence failed, and what to do about it.

use crate::sql::SqlError;
use evenkeel_protocol::lock::error::{LockError, Lost};
use evenkeel_protocol::lock::steps::Fence;
use std::sync::Arc;

/// Why work under a fence failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FenceError {
    /// The database has seen a later holder: this one came too late, and nothing of its transaction happened. Stop; acquire
    /// the lock again to begin anew.
    #[error("the database refused fence {fence} of {name}: it has seen {}", seen.map_or("another row".to_owned(), |seen| seen.to_string()))]
    Fenced {
        /// The lock.
        name: String,
        /// What the guard had.
        fence: Fence,
        /// What the row has; nothing if it was deleted.
        seen: Option<Fence>,
    },
    /// The guard had lost its lock before anything was sent to the database.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The database did not do it. Nothing of the transaction happened.
    #[error(transparent)]
    Sql(#[from] SqlError),
    /// The commit was sent and not answered: it may have happened. Read what it changed before doing it again.
    #[error("the commit was not answered ({0}); read what it changed before doing it again")]
    CommitUnknown(Arc<sqlx::Error>),
    /// The guard has no row in the database yet, and none can be made within a transaction of yours.
    #[error("the fence of this guard is not in the database yet; acquire it with `acquire_anchored`")]
    NotAnchored,
    /// The lock could not be acquired, or its fence not be lifted.
    #[error(transparent)]
    Lock(#[from] LockError),
}

impl FenceError {
    /// Whether the same work may succeed when it is done again from its beginning, under the same guard.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Sql(error) => error.is_retryable(),
            Self::Lock(error) => error.is_retryable(),
            Self::Fenced { .. } | Self::Lost(_) | Self::CommitUnknown(_) | Self::NotAnchored => false,
        }
    }

    /// Whether this guard came too late: a later holder has the lock, or may have it.
    #[must_use]
    pub fn is_fenced(&self) -> bool {
        matches!(self, Self::Fenced { .. } | Self::Lost(_))
    }

    /// Whether the transaction may have been committed although the call failed.
    #[must_use]
    pub fn outcome_unknown(&self) -> bool {
        matches!(self, Self::CommitUnknown(_))
    }
}
