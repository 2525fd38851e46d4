//! [`FenceError`]: the errors of transactions with a fence.

use crate::sql::SqlError;
use evenkeel_protocol::lock::error::{LockError, Lost};
use evenkeel_protocol::lock::steps::Fence;
use std::sync::Arc;

/// The error of a transaction with a fence.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FenceError {
    /// The database has the fence of a later holder: this transaction was rejected and has changed nothing. Stop, and acquire the lock
    /// again to begin anew.
    #[error(
        "the database rejected fence {fence} of {name}: {}",
        seen.map_or("its row was deleted".to_owned(), |seen| format!("it has {seen}"))
    )]
    Fenced {
        /// The name of the lock.
        name: String,
        /// The fence of the guard.
        fence: Fence,
        /// The fence in the row; `None` if the row was deleted.
        seen: Option<Fence>,
    },
    /// The guard had lost its lock before anything was sent to the database.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The database failed, or had ended the transaction before its commit. The transaction has changed nothing.
    #[error(transparent)]
    Sql(#[from] SqlError),
    /// The commit was sent and not answered: the transaction may have been committed. Read the data before repeating the work.
    #[error("the commit was not answered ({0}); read the data before repeating the work")]
    CommitUnknown(Arc<sqlx::Error>),
    /// The database of this connection has not stored the guard's fence yet (or its row was deleted), and cannot in the caller's transaction.
    /// The guard is not lost.
    #[error(
        "the fence of this guard is not in this database yet; acquire the lock with `acquire_anchored` on a pool of this database, or begin \
         with `Guard::begin`"
    )]
    NotAnchored,
    /// The lock could not be acquired, or its fence could not be raised.
    #[error(transparent)]
    Lock(#[from] LockError),
}

impl FenceError {
    /// Whether repeating the whole work with the same guard may succeed.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Sql(error) => error.is_retryable(),
            Self::Lock(error) => error.is_retryable(),
            Self::Fenced { .. } | Self::Lost(_) | Self::CommitUnknown(_) | Self::NotAnchored => false,
        }
    }

    /// Whether the guard has lost its lock: a later holder has it, or may have it.
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
