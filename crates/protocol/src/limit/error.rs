//! Why a call of a limit failed.

use evenkeel_link::LinkError;

/// Why a call of a limit failed. An unreachable Redis is no error for users: the limit decides without it.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// The arguments are invalid. Nothing was sent, and no call with them can succeed.
    #[error("{0}")]
    Invalid(String),
    /// A setting of the limit is invalid. One sentence that names it and the change to make.
    #[error("the limit {limit}: {reason}")]
    Settings {
        /// The limit.
        limit: String,
        /// What is wrong, and what to change.
        reason: String,
    },
    /// Redis returned an error or did not reply.
    #[error(transparent)]
    Link(#[from] LinkError),
}

impl LimitError {
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
