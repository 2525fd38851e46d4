//! What can go wrong on the way to Redis, and what to do about it.

use std::time::Duration;

/// Why a command has no answer. The predicates say what a caller may do.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The link has no epoch: Redis is away. Nothing was sent.
    #[error("Redis at {address} is not reachable: {reason}; nothing was sent, the link keeps trying")]
    Down {
        /// Host and port, never a password.
        address: String,
        /// The last failure, in words.
        reason: String,
    },
    /// The command was sent and no answer came: it may have happened.
    #[error("no answer within {after:?}; the command may have happened")]
    NoAnswer {
        /// How long the caller waited.
        after: Duration,
    },
    /// The epoch the caller asked for is over. Nothing was sent.
    #[error("the connection was replaced meanwhile; nothing was sent")]
    EpochOver,
    /// More commands are waiting than the link was told to allow. Nothing was sent.
    #[error("more than {limit} commands are waiting for Redis; nothing was sent")]
    Busy {
        /// The bound that was reached.
        limit: usize,
    },
    /// The server refused the command.
    #[error("Redis refused: {message}")]
    Refused {
        /// Redis's error code (`WRONGTYPE`, `OOM`, `READONLY`, ...).
        code: String,
        /// Redis's own words.
        message: String,
    },
    /// The answer had another shape than the caller expects.
    #[error("Redis answered something else than expected: {0}")]
    Unexpected(String),
    /// The options cannot work.
    #[error("{0}")]
    Options(String),
}

impl LinkError {
    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        !matches!(self, LinkError::Unexpected(_) | LinkError::Options(_))
            && !matches!(self, LinkError::Refused { code, .. } if !matches!(code.as_str(), "OOM" | "READONLY" | "LOADING" | "MASTERDOWN" | "BUSY" | "TRYAGAIN"))
    }

    /// Whether the command may have happened although it failed here.
    #[must_use]
    pub fn outcome_unknown(&self) -> bool {
        matches!(self, LinkError::NoAnswer { .. })
    }
}
