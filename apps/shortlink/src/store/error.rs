//! [`StoreError`]: what can go wrong between the service and its database.

use crate::domain::Code;

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
    /// An upgrade of the schema stopped half-way, in a database that cannot undo it.
    #[error("an upgrade to schema version {0} stopped half-way; restore the database from its backup and start again")]
    HalfMigrated(i64),
    /// All 62^7 codes are used, or something keeps taking the next ones.
    #[error("no free code was found")]
    CodesExhausted,
    /// The database holds something this program never wrote.
    #[error("the database holds something unreadable: {0}")]
    Corrupt(String),
    /// The database cannot be used, or refused a statement.
    #[error("the database cannot be used: {0}")]
    Unavailable(sqlx::Error),
    /// The outcome of an import could not be noted, so it was not taken.
    #[error("nothing was taken, since what becomes of the rows cannot be noted: {0}")]
    Log(std::io::Error),
    /// A code is taken. Never leaves the store.
    #[error("a code is taken")]
    Duplicate,
}

impl StoreError {
    /// Whether the same call may work a moment later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }

    /// Whether a write that failed so may have happened all the same (its answer was lost on the way).
    #[must_use]
    pub fn outcome_unknown(&self) -> bool {
        matches!(self, Self::Unavailable(sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed))
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        // The unique index on the code is the only one there is.
        if error.as_database_error().is_some_and(|known| known.is_unique_violation()) {
            return Self::Duplicate;
        }
        Self::Unavailable(error)
    }
}
