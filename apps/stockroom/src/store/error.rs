//! [`StoreError`]: what can go wrong between the service and its database.

use evenkeel::sql::SqlError;

/// What can go wrong between the service and its database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is a product of this name already.
    #[error("there is a product called {0:?} already")]
    NameTaken(String),
    /// A newer version of the program has changed the database's tables. Run that version, or restore a backup.
    #[error("the database has schema version {found}, made by a newer stockroom; this one knows up to version {known}")]
    NewerSchema {
        /// What the database has.
        found: i64,
        /// What this program has.
        known: i64,
    },
    /// The tables, this program's or the library's own, could not be made or brought up to date.
    #[error(transparent)]
    Library(SqlError),
    /// The database holds something this program never wrote.
    #[error("the database holds something unreadable: {0}")]
    Corrupt(String),
    /// The database cannot be used, or refused a statement.
    #[error("the database cannot be used: {0}")]
    Unavailable(#[from] sqlx::Error),
    /// The commit was sent and not answered: it may have happened or not.
    #[error("the commit was not answered: {0}")]
    CommitUnknown(String),
}

impl StoreError {
    /// Whether the database could not be reached, or is about to start or stop. One that refuses (a password, a name) is there.
    #[must_use]
    pub fn is_away(&self) -> bool {
        let error = match self {
            Self::Unavailable(error) => error,
            Self::Library(SqlError::Database { error, .. }) => error,
            _ => return false,
        };
        web::is_away(error)
    }

    /// Whether a change that failed so may have happened all the same.
    #[must_use]
    pub fn outcome_unknown(&self) -> bool {
        matches!(self, Self::CommitUnknown(_))
    }

    /// What an error of a commit means: only an answer of the database says that it did not happen.
    pub(crate) fn of_commit(error: sqlx::Error) -> Self {
        match error {
            error @ sqlx::Error::Database(_) => Self::Unavailable(error),
            error => Self::CommitUnknown(error.to_string()),
        }
    }
}
