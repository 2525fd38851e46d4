//! [`StoreError`]: errors of the database.

use evenkeel::sql::SqlError;
use web::sql::{Refusal, note_failover, rejects_values};

/// An error of the database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A product with this name exists.
    #[error("a product named {0:?} already exists")]
    NameTaken(String),
    /// A newer version of the program has upgraded the schema. Run that version, or restore a backup.
    #[error(
        "the database schema (version {found}) was made by a newer stockroom; this one knows version {known}. Update this program."
    )]
    NewerSchema {
        /// The version of the schema.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The schema of this program or of the library could not be created or upgraded.
    #[error(transparent)]
    Library(SqlError),
    /// The database contains a value that this program never writes.
    #[error("the database contains an invalid value: {0}")]
    Corrupt(String),
    /// The database is unreachable or rejected a statement.
    #[error("the database reported an error: {0}")]
    Unavailable(sqlx::Error),
    /// The commit was sent, and the database did not confirm it.
    #[error("the commit was not confirmed: {0}")]
    CommitUnknown(String),
}

impl StoreError {
    /// Whether the database is unreachable, starting or shutting down. False if it refuses the connection, for example because of a
    /// wrong password.
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        self.driver_error().is_some_and(web::is_unreachable)
    }

    /// Why the database, which answers, refuses writes.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        self.driver_error().and_then(Refusal::of)
    }

    /// Whether the database rejects the values, so that a retry cannot succeed.
    #[must_use]
    pub fn rejects_values(&self) -> bool {
        self.driver_error().is_some_and(rejects_values)
    }

    /// Whether too many requests waited for a connection.
    #[must_use]
    pub fn is_pool_timeout(&self) -> bool {
        matches!(self.driver_error(), Some(sqlx::Error::PoolTimedOut))
    }

    fn driver_error(&self) -> Option<&sqlx::Error> {
        match self {
            Self::Unavailable(error) => Some(error),
            Self::Library(SqlError::Database { error, .. }) => Some(error),
            _ => None,
        }
    }

    /// Whether the change may have been committed despite this error.
    #[must_use]
    pub fn outcome_unknown(&self) -> bool {
        matches!(self, Self::CommitUnknown(_))
    }

    /// The meaning of a failed commit: only an error reported by the database proves that it did not happen.
    pub(crate) fn of_commit(error: sqlx::Error) -> Self {
        match error {
            error @ sqlx::Error::Database(_) => Self::Unavailable(error),
            error => Self::CommitUnknown(error.to_string()),
        }
    }
}

/// The driver's message contains the messages of its sources, so the driver's error is not a source of [`StoreError`]: a chain of
/// errors would repeat them.
impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        note_failover(&error);
        Self::Unavailable(error)
    }
}

impl From<SqlError> for StoreError {
    fn from(error: SqlError) -> Self {
        match error {
            SqlError::NewerSchema { found, known } => Self::NewerSchema { found, known },
            SqlError::Database { error, is_retryable } => {
                note_failover(&error);
                Self::Library(SqlError::Database { error, is_retryable })
            }
            SqlError::CommitUnknown(error) => Self::CommitUnknown(error.to_string()),
            error => Self::Library(error),
        }
    }
}
