//! What can go wrong on the way to Redis, and what to do about it.

use crate::server::identity::NEEDED;
use redis::{ErrorKind, RedisError, ServerError};

/// Codes with which a healthy server asks to be tried again later.
const PASSING: [&str; 8] =
    ["OOM", "READONLY", "LOADING", "MASTERDOWN", "BUSY", "TRYAGAIN", "CLUSTERDOWN", "NOREPLICAS"];

/// Why a command has no answer. The predicates say what a caller may do.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The link has no epoch: Redis is away. Nothing was sent.
    #[error("Redis at {address} is not reachable: {reason}; nothing was sent")]
    Down {
        /// Host and port, never a password.
        address: String,
        /// The last failure, in words.
        reason: String,
    },
    /// The command was sent and no answer came: it may have happened. Repeat it only if it is safe to repeat.
    #[error("no answer from Redis ({reason}); the command may have happened")]
    NoAnswer {
        /// What was waited for in vain.
        reason: &'static str,
    },
    /// The epoch the caller asked for is over. Nothing was sent.
    #[error("the connection was replaced meanwhile; nothing was sent")]
    EpochOver,
    /// The tokio runtime that the link was opened on has ended, and its connections with it. Nothing was sent, and nothing ever will
    /// be: open a link (or a `Keel`) on the runtime that uses it.
    #[error(
        "the tokio runtime that this Keel was built on has ended, and its connections with it; nothing was sent. Build a Keel on the \
         runtime that uses it: a static one cannot be shared by several `#[tokio::test]` functions"
    )]
    RuntimeEnded,
    /// More commands are waiting than the link allows. Nothing was sent.
    #[error("more than {limit} commands are waiting for Redis; nothing was sent")]
    Busy {
        /// The bound that was reached.
        limit: usize,
    },
    /// The server refused the command.
    #[error("Redis refused: {code} {message}")]
    Refused {
        /// Redis's error code (`WRONGTYPE`, `OOM`, `READONLY`, ...).
        code: String,
        /// Redis's own words.
        message: String,
    },
    /// The server is older than Evenkeel needs. Nothing was done there.
    #[error("Redis at {address} is version {version}; {NEEDED}")]
    TooOld {
        /// Host and port, never a password.
        address: String,
        /// The version it says it is.
        version: String,
    },
    /// The answer had another shape than the caller expects.
    #[error("Redis answered something else than expected: {0}")]
    Unexpected(String),
    /// The options cannot work.
    #[error("{0}")]
    Options(String),
}

impl LinkError {
    /// Whether the same call may succeed later. (Whether it is *safe* to repeat is the caller's knowledge; see
    /// [`outcome_unknown`](Self::outcome_unknown).)
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Down { .. } | Self::NoAnswer { .. } | Self::EpochOver | Self::Busy { .. } => true,
            Self::Refused { code, .. } => PASSING.contains(&code.as_str()),
            Self::TooOld { .. } | Self::Unexpected(_) | Self::Options(_) | Self::RuntimeEnded => false,
        }
    }

    /// Whether the command may have happened although it failed here.
    #[must_use]
    pub fn outcome_unknown(&self) -> bool {
        matches!(self, Self::NoAnswer { .. })
    }

    /// Whether the connection ended under the command: the epoch is over.
    pub fn is_broken(&self) -> bool {
        matches!((self, Self::BROKEN), (Self::NoAnswer { reason }, Self::NoAnswer { reason: broken }) if *reason == broken)
    }

    /// What went wrong, without what it means for the call: for the reason of another error.
    pub fn reason(&self) -> String {
        match self {
            Self::Down { reason, .. } => reason.clone(),
            Self::NoAnswer { reason } => format!("no answer from Redis ({reason})"),
            Self::EpochOver => "the new connection ended at once".to_owned(),
            Self::Busy { limit } => format!("more than {limit} commands are waiting for Redis"),
            Self::TooOld { version, .. } => format!("it is version {version}; {NEEDED}"),
            other => other.to_string(),
        }
    }

    /// No answer within the response time-out.
    pub(crate) const SILENT: Self = Self::NoAnswer { reason: "the response time-out passed" };

    /// The connection ended under the command.
    pub const BROKEN: Self = Self::NoAnswer { reason: "the connection broke" };

    /// What a failed request to an open connection means.
    pub(crate) fn from_request(error: &RedisError) -> Self {
        match error.kind() {
            ErrorKind::Server(_) | ErrorKind::Extension => Self::from_redis(error),
            ErrorKind::Client | ErrorKind::UnexpectedReturnType => Self::Unexpected(error.to_string()),
            // Everything else ends the connection, and what was sent on it is in doubt.
            _ => Self::BROKEN,
        }
    }

    /// What the server said, if it said something; the client's own words otherwise.
    pub(crate) fn from_redis(error: &RedisError) -> Self {
        match error.code() {
            // Redis's own words are about `HELLO`, which the user has never heard of.
            Some("NOAUTH") => Self::Refused {
                code: "NOAUTH".to_owned(),
                message: "a password is needed: write redis://:PASSWORD@HOST or redis://USER:PASSWORD@HOST".to_owned(),
            },
            Some(code) => Self::Refused {
                code: code.to_owned(),
                message: error.detail().map_or_else(|| error.to_string(), str::to_owned),
            },
            None => Self::Unexpected(error.to_string()),
        }
    }
}

impl From<ServerError> for LinkError {
    fn from(error: ServerError) -> Self {
        Self::Refused { code: error.code().to_owned(), message: error.details().unwrap_or_default().to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::LinkError;

    fn refused(code: &str) -> LinkError {
        LinkError::Refused { code: code.to_owned(), message: String::new() }
    }

    #[test]
    fn only_a_sent_command_without_an_answer_is_in_doubt() {
        let down = LinkError::Down { address: "localhost:6379".to_owned(), reason: "refused".to_owned() };
        assert!(LinkError::SILENT.outcome_unknown() && LinkError::BROKEN.outcome_unknown());
        for certain in [down, LinkError::EpochOver, LinkError::Busy { limit: 1 }, refused("OOM")] {
            assert!(!certain.outcome_unknown() && certain.is_retryable(), "{certain}");
        }
    }

    #[test]
    fn what_lasts_is_not_worth_repeating() {
        let unexpected = LinkError::Unexpected(String::new());
        let old = LinkError::TooOld { address: String::new(), version: String::new() };
        for lasting in [refused("WRONGTYPE"), refused("NOPERM"), unexpected, old, LinkError::RuntimeEnded] {
            assert!(!lasting.is_retryable(), "{lasting}");
        }
    }
}
