//! [`Failure`]: why an operation was not done, as a problem of the console and as the error of a command.

use crate::kind::{NEEDS_DATABASE, PARTIAL, UNKNOWN_GROUP, UNKNOWN_STREAM, UNKNOWN_TOPIC, invalid};
use anyhow::anyhow;
use evenkeel::cache::CacheError;
use evenkeel::lock::LockError;
use evenkeel::queue::QueueError;
use evenkeel::sql::SqlError;
use evenkeel::stream::StreamError;
use web::sql::rejects_values;
use web::{Kind, Problem};

/// Why an operation was not done.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The thing is not as the operation needs it: nothing was changed. With what the command line prints.
    Refused(Box<Problem>, String),
    /// The operation makes no sense: nothing was changed. With the error of the command.
    Invalid(Box<Problem>, String),
    Queue(QueueError),
    /// Some shards may have been changed.
    Shards(QueueError),
    Stream(StreamError),
    Lock(LockError),
    /// With the field of the request that the cache rejects.
    Cache(&'static str, CacheError),
    Sql(SqlError),
}

impl Failure {
    pub(super) fn refused(problem: Problem, line: impl Into<String>) -> Self {
        Self::Refused(Box::new(problem), line.into())
    }

    pub(super) fn invalid(problem: Problem, line: impl Into<String>) -> Self {
        Self::Invalid(Box::new(problem), line.into())
    }
}

/// The failures that `?` makes of an error.
macro_rules! of_errors {
    ($($variant:ident($error:ty))*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        })*
    };
}
of_errors! { Queue(QueueError) Stream(StreamError) Lock(LockError) Sql(SqlError) }

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(problem, _) | Failure::Invalid(problem, _) => *problem,
            Failure::Queue(error) => queue_problem(error),
            Failure::Shards(error) => shards_problem(error),
            Failure::Stream(error) => stream_problem(error),
            Failure::Lock(error) => lock_problem(error),
            Failure::Cache(field, error) => cache_problem(field, &error),
            Failure::Sql(error) => sql_problem(&error),
        }
    }
}

impl From<Failure> for anyhow::Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(_, line) | Failure::Invalid(_, line) => anyhow!(line),
            Failure::Queue(error) | Failure::Shards(error) => error.into(),
            Failure::Stream(error) => error.into(),
            Failure::Lock(error) => error.into(),
            Failure::Cache(_, error) if error.is_retryable() => anyhow!("{error}; run the same command again"),
            Failure::Cache(_, error) => error.into(),
            Failure::Sql(error) => error.into(),
        }
    }
}

pub(crate) fn queue_problem(error: QueueError) -> Problem {
    match error {
        QueueError::UnknownTopic { .. } => Problem::new(UNKNOWN_TOPIC, sentence(&error)),
        QueueError::NeedsDatabase { .. } => Problem::plain(NEEDS_DATABASE),
        QueueError::Invalid(reason) => Problem::new(Kind::INVALID_INPUT, reason),
        QueueError::Settings { .. } => Problem::new(Kind::INVALID_INPUT, sentence(&error)),
        QueueError::Link(error) if error.outcome_unknown() => Problem::new(Kind::OUTCOME_UNKNOWN, sentence(&error)),
        error => Problem::new(Kind::UNAVAILABLE, sentence(&error)),
    }
}

/// The problem of an action on several shards, of which some may have been changed before the error.
pub(crate) fn shards_problem(error: QueueError) -> Problem {
    let problem = queue_problem(error);
    if problem.status().is_client_error() {
        return problem;
    }
    Problem::new(PARTIAL, format!("{} A part may have been changed; send the same request again.", problem.detail()))
}

/// `field` is the field of the request that the cache rejects.
pub(crate) fn cache_problem(field: &str, error: &CacheError) -> Problem {
    if let CacheError::Settings { reason, .. } = error {
        return invalid(field, format!("{reason}. Nothing was changed."));
    }
    let kind = if error.outcome_unknown() { Kind::OUTCOME_UNKNOWN } else { Kind::UNAVAILABLE };
    Problem::new(kind, format!("{} Send the same request again.", sentence(error)))
}

pub(crate) fn stream_problem(error: StreamError) -> Problem {
    match error {
        StreamError::Unknown { .. } => Problem::new(UNKNOWN_STREAM, sentence(&error)),
        StreamError::UnknownGroup { .. } => Problem::new(UNKNOWN_GROUP, sentence(&error)),
        StreamError::Settings { .. }
        | StreamError::Invalid(_)
        | StreamError::TooMany { .. }
        | StreamError::TooLarge { .. } => Problem::new(Kind::INVALID_INPUT, sentence(&error)),
        StreamError::Partly { .. } => {
            let rest = match error.outcome_unknown() {
                true => "One more may have been changed, the rest was not",
                false => "The rest was not changed",
            };
            Problem::new(PARTIAL, format!("{} {rest}; the same request does it.", sentence(&error)))
        }
        StreamError::Link(error) if error.outcome_unknown() => Problem::new(Kind::OUTCOME_UNKNOWN, sentence(&error)),
        error => Problem::new(Kind::UNAVAILABLE, sentence(&error)),
    }
}

pub(crate) fn lock_problem(error: LockError) -> Problem {
    match error {
        LockError::Invalid(reason) => invalid("name", reason),
        LockError::Link(error) if error.outcome_unknown() => {
            Problem::new(Kind::OUTCOME_UNKNOWN, format!("{} Send the same request again.", sentence(&error)))
        }
        error => Problem::new(Kind::UNAVAILABLE, sentence(&error)),
    }
}

pub(crate) fn sql_problem(error: &SqlError) -> Problem {
    // A repeat fails as well.
    let rejects = matches!(error, SqlError::Database { error, .. } if rejects_values(error));
    Problem::new(if rejects { Kind::INVALID_INPUT } else { Kind::UNAVAILABLE }, sentence(error))
}

fn sentence(error: &impl std::fmt::Display) -> String {
    let text = error.to_string();
    let mut letters = text.trim_end_matches('.').chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).chain(['.']).collect()
}

/// A body for which the topic has no room.
pub(super) fn no_room() -> Failure {
    let detail = "With this body the topic would be above its limit of bytes. Store a shorter one, or raise the limit. Nothing was changed.";
    let line = "not changed: with this body the topic would be above its limit of bytes";
    Failure::refused(invalid("body", detail), line)
}
