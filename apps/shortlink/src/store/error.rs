//! [`StoreError`]: the errors of the store.

use crate::domain::Code;
use evenkeel::sql::{Conflict, Contended, SqlError};
use std::sync::Arc;
use web::sql::{Refusal, note_failover, rejects_values};

/// The errors of the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another link has this code. Choose another one.
    #[error("the code {0} is taken")]
    AliasTaken(Code),
    /// The link has changed since the caller read it. Read it again before repeating the change.
    #[error("the link has changed; its version is now {current}")]
    VersionConflict {
        /// The link's version.
        current: i64,
    },
    /// A newer version of the program has upgraded the schema. Run that version, or restore a backup.
    #[error(
        "the schema (version {found}) was made by a newer shortlink; this one knows version {known}: update this program"
    )]
    NewerSchema {
        /// The version of the database.
        found: i64,
        /// The version that this program knows.
        known: i64,
    },
    /// The schema is older than this program, and the caller must not upgrade it. Starting the service upgrades it.
    #[error("the schema has version {found}; this program needs version {known}: `shortlink serve` upgrades it")]
    OlderSchema {
        /// The version of the database; 0 if it has no schema.
        found: i64,
        /// The version that this program needs.
        known: i64,
    },
    /// All 62^7 codes are used, or too many attempts met a used code.
    #[error("no free code was found")]
    CodesExhausted,
    /// The database contains data that this program never wrote.
    #[error("the database contains invalid data: {0}")]
    Corrupt(String),
    /// The database cannot be reached, or refused a statement.
    #[error("the database cannot be used: {0}")]
    Unavailable(Arc<sqlx::Error>),
    /// Strong consistency: Redis did not confirm the write before its commit. Nothing was changed.
    #[error("nothing was changed, because Redis did not confirm the write: {0}")]
    Unconfirmed(SqlError),
    /// The commit was sent, and its outcome is unknown.
    #[error("{0}")]
    OutcomeUnknown(SqlError),
    /// The unit of work did not begin or commit. Nothing was changed.
    #[error("nothing was changed: {0}")]
    Work(SqlError),
    /// The import log failed, so the batch was rolled back.
    #[error("nothing was imported, because the outcome of the rows cannot be recorded: {0}")]
    Log(std::io::Error),
    /// The quarantine file of undecodable writes cannot be written. The writes stay in the spool.
    #[error("undecodable writes of the spool cannot be moved to the quarantine file: {0}")]
    Quarantine(std::io::Error),
    /// A code is taken. Internal to the store.
    #[error("a code is taken")]
    Duplicate,
}

impl StoreError {
    /// Whether a retry may succeed.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unavailable(_) | Self::Unconfirmed(_) => true,
            Self::Work(error) => error.is_retryable(),
            _ => false,
        }
    }

    /// Whether the database is unreachable, starting or stopping. A database that refuses a login is reachable.
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        let Self::Unavailable(error) = self else { return false };
        web::is_unreachable(error)
    }

    /// Why the database, which answers, refuses writes.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        let Self::Unavailable(error) = self else { return None };
        Refusal::of(error)
    }

    /// Whether the write may have been committed although the call failed.
    #[must_use]
    pub fn outcome_unknown(&self) -> bool {
        matches!(self, Self::OutcomeUnknown(_))
    }

    /// Whether the database rejects the values of the row, so that a retry cannot succeed.
    pub(crate) fn rejects_values(&self) -> bool {
        match self {
            Self::Unavailable(error) => rejects_values(error),
            // A taken code is noticed before the statement. What is left is a unique index of another program.
            Self::Duplicate => true,
            _ => false,
        }
    }

    /// The message of the database, for the owner of the rejected values.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Unavailable(error) => {
                error.as_database_error().map_or_else(|| error.to_string(), |known| known.message().to_owned())
            }
            other => other.to_string(),
        }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        // The index on the code is the only unique index.
        if error.as_database_error().is_some_and(|known| known.is_unique_violation()) {
            return Self::Duplicate;
        }
        note_failover(&error);
        Self::Unavailable(Arc::new(error))
    }
}

impl Contended for StoreError {
    fn conflict(&self) -> Option<Conflict> {
        match self {
            Self::Unavailable(error) => Conflict::of(error),
            Self::Work(error) => error.conflict(),
            _ => None,
        }
    }
}

impl From<SqlError> for StoreError {
    fn from(error: SqlError) -> Self {
        match error {
            SqlError::Window(_) => Self::Unconfirmed(error),
            SqlError::Database { error, .. } => {
                note_failover(&error);
                Self::Unavailable(error)
            }
            error if error.outcome_unknown() => Self::OutcomeUnknown(error),
            error => Self::Work(error),
        }
    }
}
