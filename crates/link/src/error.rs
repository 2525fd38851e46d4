//! Errors of calls to Redis, and whether a retry is possible and safe.

use crate::server::identity::REQUIREMENT;
use redis::{ErrorKind, RedisError, ServerError};

/// Error codes of transient states, after which a retry may succeed.
const TRANSIENT: [&str; 8] =
    ["OOM", "READONLY", "LOADING", "MASTERDOWN", "BUSY", "TRYAGAIN", "CLUSTERDOWN", "NOREPLICAS"];

/// Why a command failed. The predicates say whether a caller may retry.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The link has no epoch: Redis is not reachable. Nothing was sent.
    #[error("Redis at {address} is not reachable: {reason}; nothing was sent")]
    Down {
        /// Host and port, never a password.
        address: String,
        /// The reason of the last failure.
        reason: String,
    },
    /// The command was sent and no reply arrived: it may have been executed. Retry it only if it is idempotent.
    #[error("no answer from Redis ({reason}); the command may have happened")]
    NoAnswer {
        /// Why no reply arrived.
        reason: &'static str,
    },
    /// The caller's epoch is over. Nothing was sent.
    #[error("the connection was replaced meanwhile; nothing was sent")]
    EpochOver,
    /// The tokio runtime on which the link was opened has ended, and its connections with it. Nothing was sent, and every later call fails
    /// as well: open a link (or a `Keel`) on the runtime that uses it.
    #[error(
        "the tokio runtime that this Keel was built on has ended, and its connections with it; nothing was sent. Build a Keel on the \
         runtime that uses it: a static one cannot be shared by several `#[tokio::test]` functions"
    )]
    RuntimeEnded,
    /// The link's limit of commands in flight is reached. Nothing was sent.
    #[error("more than {limit} commands are waiting for Redis; nothing was sent")]
    Busy {
        /// The limit.
        limit: usize,
    },
    /// The server replied with an error.
    #[error("Redis refused: {code} {message}")]
    Refused {
        /// Redis's error code (`WRONGTYPE`, `OOM`, `READONLY`, ...).
        code: String,
        /// Redis's message.
        message: String,
    },
    /// The server is older than Evenkeel requires. Nothing was changed there.
    #[error("Redis at {address} is version {version}; {REQUIREMENT}")]
    TooOld {
        /// Host and port, never a password.
        address: String,
        /// The version that the server reports.
        version: String,
    },
    /// The reply does not have the expected type.
    #[error("Redis answered something else than expected: {0}")]
    Unexpected(String),
    /// The options are invalid.
    #[error("{0}")]
    Options(String),
}

impl LinkError {
    /// Whether the same call may succeed later. Whether a retry is *safe* depends on the command; see
    /// [`outcome_unknown`](Self::outcome_unknown).
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Down { .. } | Self::NoAnswer { .. } | Self::EpochOver | Self::Busy { .. } => true,
            Self::Refused { code, .. } => TRANSIENT.contains(&code.as_str()),
            Self::TooOld { .. } | Self::Unexpected(_) | Self::Options(_) | Self::RuntimeEnded => false,
        }
    }

    /// Whether the command may have been executed although the call failed.
    #[must_use]
    pub fn outcome_unknown(&self) -> bool {
        matches!(self, Self::NoAnswer { .. })
    }

    /// Whether the connection ended during the command: the epoch is over.
    pub fn is_broken(&self) -> bool {
        matches!((self, Self::BROKEN), (Self::NoAnswer { reason }, Self::NoAnswer { reason: broken }) if *reason == broken)
    }

    /// The cause alone, without its consequence for the call, for use within another error's message.
    pub fn reason(&self) -> String {
        match self {
            Self::Down { reason, .. } => reason.clone(),
            Self::NoAnswer { reason } => format!("no answer from Redis ({reason})"),
            Self::EpochOver => "the new connection ended at once".to_owned(),
            Self::Busy { limit } => format!("more than {limit} commands are waiting for Redis"),
            Self::TooOld { version, .. } => format!("it is version {version}; {REQUIREMENT}"),
            other => other.to_string(),
        }
    }

    /// No reply within the response time-out.
    pub(crate) const SILENT: Self = Self::NoAnswer { reason: "the response time-out passed" };

    /// The connection ended during the command.
    pub const BROKEN: Self = Self::NoAnswer { reason: "the connection broke" };

    /// Converts the error of a request on an open connection.
    pub(crate) fn from_request(error: &RedisError) -> Self {
        match error.kind() {
            ErrorKind::Server(_) | ErrorKind::Extension => Self::from_redis(error),
            ErrorKind::Client | ErrorKind::UnexpectedReturnType => Self::Unexpected(error.to_string()),
            // Every other error ends the connection, and the outcome of sent commands is unknown.
            _ => Self::BROKEN,
        }
    }

    /// The server's error reply, or the client's message if the server sent none.
    pub(crate) fn from_redis(error: &RedisError) -> Self {
        match error.code() {
            // Redis's message mentions `HELLO`, a command that the user did not send.
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

    // shows: L3, link::Link::command, link::Link::get, link::Link::pipeline, link::Link::run, link::Epoch::command
    // shows: link::Epoch::pipeline, link::Epoch::run
    #[test]
    fn only_a_sent_command_without_a_reply_is_in_doubt() {
        let down = LinkError::Down { address: "localhost:6379".to_owned(), reason: "refused".to_owned() };
        assert!(LinkError::SILENT.outcome_unknown() && LinkError::BROKEN.outcome_unknown());
        for certain in [down, LinkError::EpochOver, LinkError::Busy { limit: 1 }, refused("OOM")] {
            assert!(!certain.outcome_unknown() && certain.is_retryable(), "{certain}");
        }
    }

    #[test]
    fn permanent_errors_are_not_retryable() {
        let unexpected = LinkError::Unexpected(String::new());
        let old = LinkError::TooOld { address: String::new(), version: String::new() };
        for lasting in [refused("WRONGTYPE"), refused("NOPERM"), unexpected, old, LinkError::RuntimeEnded] {
            assert!(!lasting.is_retryable(), "{lasting}");
        }
    }
}
