//! Converts the errors of the library to problems.

use crate::console::kind::{NEEDS_DATABASE, PARTIAL, UNKNOWN_GROUP, UNKNOWN_STREAM, UNKNOWN_TOPIC, invalid};
use evenkeel::cache::CacheError;
use evenkeel::queue::QueueError;
use evenkeel::sql::SqlError;
use evenkeel::stream::StreamError;
use web::sql::rejects_values;
use web::{Kind, Problem};

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

/// The problem of a body for which the topic has no room.
pub(crate) fn no_room() -> Problem {
    let detail = "With this body the topic would be above its limit of bytes. Store a shorter one, or raise the limit. Nothing was changed.";
    invalid("body", detail)
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
