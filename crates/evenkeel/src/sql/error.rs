//! What can go wrong on the SQL side, and what to do about it.

use super::database::{Database, Trouble, trouble_of_any};
use evenkeel_link::support::guard;
use evenkeel_protocol::cache::error::CacheError;
#[cfg(feature = "lock")]
use evenkeel_protocol::lock::error::LockError;
use evenkeel_protocol::queue::error::QueueError;
use std::sync::Arc;

/// Why a call on the SQL side failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqlError {
    /// The database did not do it. Nothing of this transaction will happen, and none of its effects.
    #[error("the database refused: {error}")]
    Database {
        /// What it said.
        error: Arc<sqlx::Error>,
        /// Whether the same work may succeed when it is done again from its beginning (a deadlock, a lock that was not given in
        /// time, a lost connection before the commit).
        is_retryable: bool,
    },
    /// The library's tables are not there.
    #[error("the tables of the unit of work are missing: call evenkeel::sql::migrate(&pool) when the program starts")]
    NotMigrated,
    /// The tables were made by a newer version of the library. Nothing was changed.
    #[error(
        "the schema (version {found}) was made by a newer program; this one knows version {known}: update this program"
    )]
    NewerSchema {
        /// The version of the tables.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// A program's migrations and those that its database has do not fit together. Nothing was changed.
    #[error("{0}")]
    Migration(String),
    /// Somebody else was at it for too long. Nothing was changed; try again.
    #[error("{0}")]
    Busy(&'static str),
    /// The transaction was gone when it was to be committed, and with it everything it had done and every effect: the database
    /// had taken it back (a deadlock whose error somebody swallowed, a savepoint that was rolled back), or somebody had ended it.
    /// On MySQL and MariaDB, what was sent after that was committed statement by statement. Do the work again from its beginning.
    #[error("the transaction was taken back before its commit; do the work again, and do not go on after a deadlock")]
    Lost,
    /// This work has seen a deadlock, a lock time-out or another error of its own before, so it may not commit. It was rolled back.
    #[error("an earlier statement of this work failed ({0}); it was rolled back, do it again from its beginning")]
    Poisoned(Arc<str>),
    /// The commit was sent and its outcome could not be learned in time. If it was committed, its effects will happen; if it was
    /// not, they never will. Read the row that the work changed, later, to know which.
    #[error(
        "nobody can say yet whether work {work} was committed ({error}); its effects follow whatever the database decides"
    )]
    OutcomeUnknown {
        /// The work: its row in `evenkeel_outbox`.
        work: String,
        /// The last thing that was heard.
        error: Arc<sqlx::Error>,
    },
    /// A strong cache could not confirm its update window, so the work was rolled back before its commit was sent.
    #[error("rolled back before the commit, because an update window could not be confirmed: {0}")]
    Window(#[source] CacheError),
    /// An effect cannot be carried by a unit of work. Nothing was noted; the work itself is as it was.
    #[error("{0}")]
    Effect(String),
    /// The effects are larger than the database takes in one message (MySQL and MariaDB: `max_allowed_packet`). Nothing of them was
    /// sent, and the work was rolled back. Raise the server's limit, or keep the data elsewhere and publish its key.
    #[error(
        "{what} of {bytes} bytes cannot be written: the database takes {limit} bytes in one message (max_allowed_packet); raise \
         that, or keep the data elsewhere and send its key"
    )]
    TooLarge {
        /// A message with a key, or all other effects of the work together.
        what: &'static str,
        /// How large it is.
        bytes: u64,
        /// What the database takes.
        limit: u64,
    },
    /// A job cannot be sent as it is.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// A row of the outbox cannot be read: a newer version of the library wrote it.
    #[error("an effect in the outbox cannot be read ({0}); was it written by a newer program?")]
    Unreadable(&'static str),
    /// The task of the commit was ended with its runtime. As [`SqlError::OutcomeUnknown`].
    #[error("the runtime ended during the commit; its effects follow whatever the database decides")]
    Interrupted,
    /// The commit of a transaction without effects was sent, and its answer was lost: it may have been committed or not. Read what it
    /// changed, later, to know which.
    #[error("nobody can say whether the transaction was committed ({0}); read what it changed before doing it again")]
    CommitUnknown(Arc<sqlx::Error>),
}

impl SqlError {
    /// What an error of the database means for the work it happened in.
    pub(crate) fn of<DB: Database>(error: sqlx::Error) -> Self {
        let trouble = DB::trouble(&error);
        Self::of_trouble(trouble, error)
    }

    fn of_trouble(trouble: Trouble, error: sqlx::Error) -> Self {
        if trouble == Trouble::NoTable {
            return Self::NotMigrated;
        }
        let is_retryable =
            matches!(trouble, Trouble::Contention | Trouble::Connection) || matches!(error, sqlx::Error::PoolTimedOut);
        Self::Database { error: Arc::new(error), is_retryable }
    }

    /// Whether the same work may succeed when it is done again from its beginning. Never after an unknown outcome: it might
    /// happen twice.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Database { is_retryable, .. } => *is_retryable,
            Self::Busy(_) | Self::Lost | Self::Poisoned(_) => true,
            Self::Window(error) => error.is_retryable(),
            Self::Queue(error) => error.is_retryable(),
            _ => false,
        }
    }

    /// Whether the transaction may have been committed although the call failed.
    #[must_use]
    pub fn outcome_unknown(&self) -> bool {
        matches!(self, Self::OutcomeUnknown { .. } | Self::Interrupted | Self::CommitUnknown(_))
    }
}

/// What `?` makes of an error of the driver is what the library makes of its own: whichever database it came from, a deadlock is
/// retryable, and a table of the library that is missing is [`SqlError::NotMigrated`].
impl From<sqlx::Error> for SqlError {
    fn from(error: sqlx::Error) -> Self {
        let trouble = if guard("question_mark_classifies") { trouble_of_any(&error) } else { Trouble::Other };
        Self::of_trouble(trouble, error)
    }
}

/// A lock that a database keeps takes its error from there.
#[cfg(feature = "lock")]
impl From<SqlError> for LockError {
    fn from(error: SqlError) -> Self {
        // A statement of its own that failed: only what was never sent is known not to have happened.
        let outcome_unknown = match &error {
            SqlError::Database { error, .. } => !matches!(**error, sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed),
            SqlError::Busy(_) => true,
            _ => false,
        };
        Self::Database { is_retryable: error.is_retryable(), outcome_unknown, error: Arc::new(error) }
    }
}
