//! [`StoreError`]: what can go wrong between the service and its database.

use crate::domain::Code;
use evenkeel::sql::SqlError;
use std::sync::Arc;

/// What can go wrong between the service and its database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Somebody has this code already. Choose another.
    #[error("the code {0} is taken")]
    AliasTaken(Code),
    /// The link was changed since the caller read it. Read it again and decide anew.
    #[error("the link was changed meanwhile: it has version {current} now")]
    VersionConflict {
        /// The version it has now.
        current: i64,
    },
    /// A newer version of the program has changed the database's schema. Run that version, or restore a backup.
    #[error("the database has schema version {found}, made by a newer shortlink; this one knows up to version {known}")]
    NewerSchema {
        /// What the database has.
        found: i64,
        /// What this program has.
        known: i64,
    },
    /// The schema is an earlier version's, and the caller must not upgrade it. Start the service once: it does.
    #[error("the database has schema version {found}, and {known} is needed; shortlink serve brings it up to date")]
    OlderSchema {
        /// What the database has; 0 if it has none.
        found: i64,
        /// What this program has.
        known: i64,
    },
    /// All 62^7 codes are used, or something keeps taking the next ones.
    #[error("no free code was found")]
    CodesExhausted,
    /// The database holds something this program never wrote.
    #[error("the database holds something unreadable: {0}")]
    Corrupt(String),
    /// The database cannot be used, or refused a statement.
    #[error("the database cannot be used: {0}")]
    Unavailable(Arc<sqlx::Error>),
    /// The cache must confirm a write before it is committed (strong mode), and could not. Nothing was changed.
    #[error("nothing was changed, since the cache could not confirm it beforehand: {0}")]
    Unconfirmed(SqlError),
    /// The database was asked to commit, and nobody could learn whether it did.
    #[error("{0}")]
    OutcomeUnknown(SqlError),
    /// The unit of work could not be begun or committed. Nothing was changed.
    #[error("nothing was changed: {0}")]
    Work(SqlError),
    /// The outcome of an import could not be noted, so it was not taken.
    #[error("nothing was taken, since what becomes of the rows cannot be noted: {0}")]
    Log(std::io::Error),
    /// A write that was accepted cannot be read, and could not be kept aside. It waits.
    #[error("a write in the spool cannot be read, and could not be kept in a file: {0}")]
    Aside(std::io::Error),
    /// A code is taken. Never leaves the store.
    #[error("a code is taken")]
    Duplicate,
}

impl StoreError {
    /// Whether the same call may work a moment later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unavailable(_) | Self::Unconfirmed(_) => true,
            Self::Work(error) => error.is_retryable(),
            _ => false,
        }
    }

    /// Whether the database could not be reached, or is about to start or stop. One that refuses (a password, a name) is there.
    #[must_use]
    pub fn is_away(&self) -> bool {
        let Self::Unavailable(error) = self else { return false };
        web::is_unreachable(error)
    }

    /// Whether a write that failed so may have happened all the same (its answer was lost on the way).
    #[must_use]
    pub fn outcome_unknown(&self) -> bool {
        matches!(self, Self::OutcomeUnknown(_))
    }

    /// Whether two transactions were in each other's way: nothing was changed, and the same work may succeed from its beginning.
    pub(super) fn is_contention(&self) -> bool {
        match self {
            // A deadlock or a lock that was not given in time, in the words of all three (MySQL's code for the latter says nothing).
            Self::Unavailable(error) => error.as_database_error().is_some_and(|known| {
                matches!(known.code().as_deref(), Some("40001" | "40P01" | "5" | "261" | "517"))
                    || known.message().starts_with("Lock wait timeout")
            }),
            // There is no queue to send to yet, and the next moment there will be none either.
            Self::Work(SqlError::Queue(_)) => false,
            Self::Work(error) => error.is_retryable(),
            _ => false,
        }
    }

    /// Whether the database refuses what the row says, so that it will never take it.
    pub(crate) fn is_about_the_row(&self) -> bool {
        let Self::Unavailable(error) = self else { return false };
        error.as_database_error().is_some_and(|known| {
            !matches!(known.kind(), sqlx::error::ErrorKind::Other)
                || known.code().is_some_and(|code| code.len() == 5 && code.starts_with("22"))
        })
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        // The unique index on the code is the only one there is.
        if error.as_database_error().is_some_and(|known| known.is_unique_violation()) {
            return Self::Duplicate;
        }
        Self::Unavailable(Arc::new(error))
    }
}

impl From<SqlError> for StoreError {
    fn from(error: SqlError) -> Self {
        match error {
            SqlError::Window(_) => Self::Unconfirmed(error),
            SqlError::Database { error, .. } => Self::Unavailable(error),
            error if error.outcome_unknown() => Self::OutcomeUnknown(error),
            error => Self::Work(error),
        }
    }
}
