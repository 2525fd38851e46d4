//! From what the service could not do to what the client is told.

use super::kind::{ALIAS_RESERVED, ALIAS_TAKEN, CACHE_UNCONFIRMED, UNKNOWN_CODE, VERSION_CONFLICT, WRITES_WAIT};
use crate::domain::PageRefused;
use crate::service::{Refusal, ServiceError, sentence};
use crate::store::StoreError;
use evenkeel::cache::CacheError;
use evenkeel::spool::SpoolError;
use evenkeel::sql::SqlError;
use tracing::{error, warn};
use web::{FieldError, Kind, Problem};

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::Refused(refusals) => refused(&refusals),
            ServiceError::Store(error) => from_store(&error),
            ServiceError::Cache(error) => from_cache(&error),
            ServiceError::CacheAway => unconfirmed(&error),
            ServiceError::Spool(error) => from_spool(&error),
            ServiceError::NoNumber(error) => {
                warn!(%error, "a link without an alias was refused");
                Problem::new(
                    Kind::UNAVAILABLE,
                    "A code is made from a number of the database, and the database cannot be reached now. Nothing was changed; \
                     give the link an alias, or try again in a moment.",
                )
            }
            ServiceError::ReadSlow => {
                error!(%error, "a request was given up");
                Problem::new(Kind::UNAVAILABLE, "The database did not answer in time. Try again in a moment.")
            }
            ServiceError::WriteSlow | ServiceError::Task(_) => unknown_outcome(&error),
        }
    }
}

/// There is no such page of the list.
pub(crate) fn refused_page(refused: &PageRefused) -> Problem {
    let field = if matches!(refused, PageRefused::Size(_)) { "per_page" } else { "page" };
    Problem::of_field(Kind::INVALID_INPUT, field, sentence(refused))
}

/// What no link can be found under.
pub(crate) fn unknown_code(code: &str) -> Problem {
    let shown: String = code.chars().take(80).collect();
    Problem::new(UNKNOWN_CODE, format!("No link has the code {shown:?}. Codes are case-sensitive."))
}

/// A well-formed alias that is reserved is a conflict; together with mistakes of form it is one of them.
fn refused(refusals: &[Refusal]) -> Problem {
    let errors = refusals.iter().map(|refusal| FieldError::new(refusal.field, refusal.reason.as_str())).collect();
    match refusals {
        [only] if only.is_conflict => Problem::of_field(ALIAS_RESERVED, only.field, only.reason.as_str()),
        _ => Problem::of_fields(Kind::INVALID_INPUT, errors),
    }
}

fn from_store(error: &StoreError) -> Problem {
    match error {
        StoreError::AliasTaken(code) => {
            let detail =
                format!("The alias {:?} is taken. Choose another, or leave it out to get a code.", code.as_str());
            Problem::of_field(ALIAS_TAKEN, "alias", detail)
        }
        StoreError::VersionConflict { current } => Problem::new(
            VERSION_CONFLICT,
            format!("The link was changed meanwhile: it has version {current} now. Read it again, then decide anew."),
        ),
        error if error.outcome_unknown() => unknown_outcome(error),
        StoreError::Unconfirmed(_) => unconfirmed(error),
        StoreError::Work(SqlError::Queue(error)) if error.is_retryable() => {
            warn!(%error, "a link that ends could not be written");
            Problem::new(
                Kind::UNAVAILABLE,
                "Redis has been away since this instance started, so a link that ends cannot be written yet. Nothing was \
                 changed; try again in a moment.",
            )
        }
        error if error.is_retryable() => {
            error!(%error, "the database cannot be used");
            Problem::new(
                Kind::UNAVAILABLE,
                "The database cannot be reached now. Nothing was changed; try again in a moment.",
            )
        }
        error => {
            error!(%error, "a request failed");
            Problem::plain(Kind::INTERNAL)
        }
    }
}

/// The spool itself logs when its disk fails; every request is logged with what it is told here.
fn from_spool(error: &SpoolError) -> Problem {
    match error {
        SpoolError::Io { source, .. } => Problem::new(
            Kind::UNAVAILABLE,
            format!(
                "The disk of this instance does not take the write ({source}). Nothing was changed; make room in the data folder, or \
                 use another instance."
            ),
        ),
        SpoolError::Broken { .. } => Problem::new(
            Kind::UNAVAILABLE,
            "The disk of this instance failed. Nothing was changed; this instance takes no writes until it is started again.",
        ),
        _ => Problem::plain(WRITES_WAIT),
    }
}

/// A redirect that could not be looked up. Nothing was to be changed, so nothing is unknown about it.
fn from_cache(error: &CacheError) -> Problem {
    match error {
        CacheError::Overloaded { .. } => {
            warn!(%error, "a redirect was turned away");
            Problem::new(Kind::UNAVAILABLE, "Too many requests wait for the database. Try again in a moment.")
        }
        error if error.is_retryable() => {
            error!(%error, "a redirect could not be looked up");
            Problem::new(Kind::UNAVAILABLE, "The database cannot be reached now. Try again in a moment.")
        }
        error => {
            error!(%error, "a redirect failed");
            Problem::plain(Kind::INTERNAL)
        }
    }
}

/// In strong mode.
fn unconfirmed(error: &dyn std::error::Error) -> Problem {
    warn!(%error, "a write was refused");
    Problem::plain(CACHE_UNCONFIRMED)
}

fn unknown_outcome(error: &dyn std::error::Error) -> Problem {
    error!(%error, "the outcome of a request is unknown");
    Problem::plain(Kind::OUTCOME_UNKNOWN)
}
