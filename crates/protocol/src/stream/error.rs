//! The errors of stream calls and what a caller can do about them.

use evenkeel_link::LinkError;

/// Why a stream call failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// Redis returned an error or did not reply.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The call has more items than the limit. Nothing was sent.
    #[error("{items} items in one call; the limit is {limit}; split the call")]
    TooMany {
        /// The number of items.
        items: usize,
        /// The limit.
        limit: usize,
    },
    /// An entry is above the size limit. Nothing was sent.
    #[error("the entry has {bytes} bytes; the limit is {limit}; store the data elsewhere and append its key")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The arguments are invalid. Nothing was sent.
    #[error("{0}")]
    Invalid(String),
}

impl StreamError {
    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Link(error) if error.is_retryable())
    }

    /// Whether the call may have been executed although it failed.
    #[must_use]
    pub fn outcome_unknown(&self) -> bool {
        matches!(self, Self::Link(error) if error.outcome_unknown())
    }
}
