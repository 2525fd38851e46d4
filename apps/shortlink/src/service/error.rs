//! [`ServiceError`]: why the service did not do what was asked.

use super::Refusal;
use crate::store::StoreError;

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
    /// The task of a write was ended by a panic. Nothing is known about the write.
    #[error("an internal task failed: {0}")]
    Task(#[from] tokio::task::JoinError),
}
