//! [`ServiceError`]: the errors of the use cases.

use super::InvalidField;
use crate::store::StoreError;
use evenkeel::cache::CacheError;
use evenkeel::spool::SpoolError;

/// The errors of the use cases.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// All invalid fields.
    #[error("{}", .0.iter().map(|refusal| refusal.reason.as_str()).collect::<Vec<_>>().join(" "))]
    Invalid(Vec<InvalidField>),
    /// The database refused the call, or cannot be reached.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The cache could not load the link: the database failed, or too many loads are waiting.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// Strong consistency: Redis must confirm a write before it begins, and is unreachable. Nothing was changed.
    #[error("Redis, which must confirm a write before it begins, is unreachable")]
    RedisUnreachable,
    /// A generated code needs a number from the database, which is unreachable (`--write-mode behind`). Nothing was changed.
    #[error("no number for a generated code: {0}")]
    NoCode(StoreError),
    /// The spool did not accept the write (`--write-mode behind`).
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// A read timed out.
    #[error("the database did not answer in time")]
    ReadTimeout,
    /// A write timed out. It goes on and may still succeed.
    #[error("the database did not confirm in time")]
    WriteTimeout,
    /// The task of a write panicked. The outcome is unknown.
    #[error("an internal task failed: {0}")]
    Task(#[from] tokio::task::JoinError),
}
