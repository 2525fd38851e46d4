//! What can go wrong with a queue, and what to do about it.

use super::record::Unreadable;
use crate::link::LinkError;

/// Why a queue call failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// Redis did not do it, or did not say so.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The call has more items than a step takes. Nothing was sent.
    #[error("{items} items in one call, at most {limit} are taken; split the call")]
    TooMany {
        /// How many there were.
        items: usize,
        /// How many are taken.
        limit: usize,
    },
    /// A job is larger than the queue takes. Nothing was sent.
    #[error("the job is {bytes} bytes, at most {limit} are taken; keep the data elsewhere and enqueue its key")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The call cannot work as it is. Nothing was sent.
    #[error("{0}")]
    Invalid(String),
    /// The call happened, but a record could not be read. The job stays where it is.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
}

impl QueueError {
    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, QueueError::Link(error) if error.is_retryable())
    }

    /// Whether the call may have happened although it failed here.
    #[must_use]
    pub fn outcome_unknown(&self) -> bool {
        matches!(self, QueueError::Link(error) if error.outcome_unknown())
    }
}
