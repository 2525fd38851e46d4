//! [`ServiceError`]: why the service did not do what was asked.

use super::Refusal;
use crate::store::StoreError;
use evenkeel::cache::CacheError;
use evenkeel::spool::SpoolError;

/// Why the service did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// Fields that cannot be taken, all of them.
    #[error("{}", .0.iter().map(|refusal| refusal.reason.as_str()).collect::<Vec<_>>().join(" "))]
    Refused(Vec<Refusal>),
    /// The database refused, or cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The cache could not bring an answer: the database failed, or too many questions wait for it.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The cache must confirm a write before it begins (strong mode), and Redis is away. Nothing was begun.
    #[error("Redis, which must confirm a write before it begins, is away")]
    CacheAway,
    /// A link without an alias needs a number of the database, which is away (`--write-mode behind`). Nothing was begun.
    #[error("no number for a code: {0}")]
    NoNumber(StoreError),
    /// A write could not be written down (`--write-mode behind`).
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// The database took too long to answer a question.
    #[error("the database did not answer in time")]
    ReadSlow,
    /// The database took too long to write. It may still do so.
    #[error("the database did not confirm in time")]
    WriteSlow,
    /// The task of a write was ended by a panic. Nothing is known about the write.
    #[error("an internal task failed: {0}")]
    Task(#[from] tokio::task::JoinError),
}
