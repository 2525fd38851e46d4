//! Errors of the service as problem documents.

use super::kind::{ALIAS_RESERVED, ALIAS_TAKEN, CACHE_UNCONFIRMED, UNKNOWN_CODE, VERSION_CONFLICT, WRITES_WAIT};
use crate::domain::InvalidPage;
use crate::service::{InvalidField, ServiceError};
use crate::store::StoreError;
use evenkeel::cache::CacheError;
use evenkeel::spool::SpoolError;
use evenkeel::sql::SqlError;
use tracing::{error, warn};
use web::{FieldError, Kind, Problem, sentence};

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::Invalid(refusals) => refused(&refusals),
            ServiceError::Store(error) => from_store(&error),
            ServiceError::Cache(error) => from_cache(&error),
            ServiceError::RedisUnreachable => unconfirmed(&error),
            ServiceError::Spool(error) => from_spool(&error),
            ServiceError::NoCode(error) => {
                warn!(%error, "a link without an alias was refused");
                Problem::new(
                    Kind::UNAVAILABLE,
                    "A generated code needs the database, which cannot be reached. Nothing was changed; give the link an alias, or \
                     try again in a moment.",
                )
            }
            ServiceError::ReadTimeout => {
                error!(%error, "a read timed out");
                Problem::new(Kind::UNAVAILABLE, "The database did not answer in time. Try again in a moment.")
            }
            ServiceError::WriteTimeout | ServiceError::Task(_) => unknown_outcome(&error),
        }
    }
}

/// The problem for an invalid page of the list.
pub(crate) fn invalid_page(refused: &InvalidPage) -> Problem {
    let field = match refused {
        InvalidPage::Size(_) => "per_page",
        InvalidPage::SearchTooLong(_) | InvalidPage::SearchNul => "q",
        _ => "page",
    };
    Problem::of_field(Kind::INVALID_INPUT, field, sentence(refused))
}

/// The problem for a code without a link.
pub(crate) fn unknown_code(code: &str) -> Problem {
    let shown: String = code.chars().take(80).collect();
    Problem::new(UNKNOWN_CODE, format!("No link has the code {shown:?}. Codes are case-sensitive."))
}

/// A reserved alias alone is a conflict (409); with other invalid fields it is reported among them (422).
fn refused(refusals: &[InvalidField]) -> Problem {
    let errors = refusals.iter().map(|refusal| FieldError::new(refusal.field, refusal.reason.as_str())).collect();
    match refusals {
        [only] if only.is_conflict => Problem::of_field(ALIAS_RESERVED, only.field, only.reason.as_str()),
        _ => Problem::of_fields(Kind::INVALID_INPUT, errors),
    }
}

fn from_store(error: &StoreError) -> Problem {
    match error {
        StoreError::AliasTaken(code) => {
            let detail = format!(
                "The alias {:?} is taken. Choose another alias, or omit it to get a generated code.",
                code.as_str()
            );
            Problem::of_field(ALIAS_TAKEN, "alias", detail)
        }
        StoreError::VersionConflict { current } => Problem::new(
            VERSION_CONFLICT,
            format!("The link has changed; its version is now {current}. Read it again before you repeat the change."),
        ),
        error if error.outcome_unknown() => unknown_outcome(error),
        StoreError::Unconfirmed(_) => unconfirmed(error),
        StoreError::Work(SqlError::Queue(error)) if error.is_retryable() => {
            warn!(%error, "a link with an expiry was refused");
            Problem::new(
                Kind::UNAVAILABLE,
                "Redis has been unreachable since this instance started, so links with an expiry cannot be saved yet. Nothing \
                 was changed; try again in a moment.",
            )
        }
        error if error.rejects_values() => {
            error!(%error, "the database does not accept a value");
            Problem::new(Kind::INVALID_INPUT, "The database does not accept one of the values. Nothing was changed.")
        }
        error if error.is_retryable() => {
            error!(%error, "the database cannot be used");
            let what = match error.refusal() {
                Some(refusal) => format!("The database refuses writes: {refusal}."),
                None => "The database cannot be reached.".to_owned(),
            };
            Problem::new(Kind::UNAVAILABLE, format!("{what} Nothing was changed; try again in a moment."))
        }
        error => {
            error!(%error, "a request failed");
            Problem::plain(Kind::INTERNAL)
        }
    }
}

/// Not logged here: the spool logs a failing disk once, and the middleware logs each problem with its request.
fn from_spool(error: &SpoolError) -> Problem {
    match error {
        SpoolError::Io { source, .. } => Problem::new(
            Kind::UNAVAILABLE,
            format!(
                "This instance cannot write to its disk ({source}). Nothing was changed; free space in the data folder, or use \
                 another instance."
            ),
        ),
        SpoolError::Broken { .. } => Problem::new(
            Kind::UNAVAILABLE,
            "The disk of this instance failed. Nothing was changed; this instance accepts no writes until it is restarted.",
        ),
        _ => Problem::plain(WRITES_WAIT),
    }
}

/// A redirect that could not be looked up. A read has no unknown outcome.
fn from_cache(error: &CacheError) -> Problem {
    match error {
        CacheError::Overloaded { .. } => {
            warn!(%error, "a redirect was rejected");
            Problem::new(Kind::UNAVAILABLE, "Too many requests are waiting for the database. Try again in a moment.")
        }
        error if error.is_retryable() => {
            error!(%error, "a redirect could not be looked up");
            Problem::new(Kind::UNAVAILABLE, "The database cannot be reached. Try again in a moment.")
        }
        error => {
            error!(%error, "a redirect failed");
            Problem::plain(Kind::INTERNAL)
        }
    }
}

/// Strong consistency: Redis did not confirm the write, so it was not made.
fn unconfirmed(error: &dyn std::error::Error) -> Problem {
    warn!(%error, "a write was refused");
    Problem::plain(CACHE_UNCONFIRMED)
}

fn unknown_outcome(error: &dyn std::error::Error) -> Problem {
    error!(%error, "the outcome of a request is unknown");
    Problem::plain(Kind::OUTCOME_UNKNOWN)
}
