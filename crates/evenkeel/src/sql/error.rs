//! The errors of the SQL side, and how the caller can react to each.

use super::database::{SqlErrorClass, class_of_error};
use evenkeel_link::support::guard;
#[cfg(feature = "cache")]
use evenkeel_protocol::cache::error::CacheError;
#[cfg(feature = "id")]
use evenkeel_protocol::id::error::IdError;
#[cfg(feature = "lock")]
use evenkeel_protocol::lock::error::LockError;
#[cfg(feature = "queue")]
use evenkeel_protocol::queue::error::QueueError;
use std::sync::Arc;

/// Why a call on the SQL side failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqlError {
    /// The database returned an error. The transaction is not committed, and none of its effects is carried out.
    #[error("database error: {}", driver_text(error))]
    Database {
        /// The error of the driver.
        error: Arc<sqlx::Error>,
        /// Whether the same unit of work may succeed if it is repeated from its beginning (a deadlock, a lock timeout, a connection
        /// lost before the commit).
        is_retryable: bool,
    },
    /// The library's tables do not exist.
    #[error("the tables of the unit of work are missing: call evenkeel::sql::migrate(&pool) when the program starts")]
    NotMigrated,
    /// A newer version of the library created the tables. Nothing was changed.
    #[error(
        "the schema (version {found}) was made by a newer program; this one knows version {known}: update this program"
    )]
    NewerSchema {
        /// The version of the tables.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// A migration of the library's tables is missing. Nothing was changed. [`migrate`](crate::sql::migrate) runs it.
    #[error(
        "the schema lacks migration {missing}; this program knows version {known}: start a service of this version, which upgrades it"
    )]
    OlderSchema {
        /// The first migration that is missing.
        missing: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The program's migrations do not match those recorded in its database. Nothing was changed.
    #[error("{0}")]
    Migration(String),
    /// Another process or transaction held the resource for too long. Nothing was changed; try again.
    #[error("{0}")]
    Busy(&'static str),
    /// The transaction no longer existed when it was to be committed, so all its changes and effects are lost: the database had
    /// rolled it back (a deadlock whose error the program ignored, a savepoint that was rolled back), or the program had ended it. On
    /// MySQL and MariaDB, statements sent after that were committed one by one. Repeat the unit of work from its beginning.
    #[error(
        "the transaction no longer existed at its commit (a deadlock, or a rollback); repeat it from its beginning"
    )]
    Lost,
    /// A nested transaction (`begin` on the connection of this one) was neither committed nor rolled back, so a commit would have
    /// committed nothing. The transaction was rolled back. Commit, roll back or drop every nested transaction before.
    #[error(
        "a nested transaction was neither committed nor rolled back before the commit, so the transaction was rolled back; \
         end every nested transaction first"
    )]
    OpenSavepoint,
    /// An earlier statement of this unit of work failed with a deadlock, a lock timeout or another error, so it may not commit. It
    /// was rolled back.
    #[error("an earlier statement of this unit of work failed ({0}); it was rolled back, repeat it from its beginning")]
    Poisoned(Arc<str>),
    /// The commit was sent and its outcome could not be determined in time. If the transaction was committed, its effects are carried
    /// out; if it was not, they never are. To find out which, read a row that the unit of work changed, later.
    #[error(
        "it is unknown whether unit of work {work} was committed ({}); if it was, its effects are carried out",
        driver_text(error)
    )]
    OutcomeUnknown {
        /// The id of the unit of work, which names its row in `evenkeel_outbox`.
        work: String,
        /// The last error of the commit or of the attempts to determine its outcome.
        error: Arc<sqlx::Error>,
    },
    /// A strong cache could not confirm its update window, so the transaction was rolled back before the commit was sent.
    #[cfg(feature = "cache")]
    #[error("rolled back before the commit, because an update window could not be confirmed: {0}")]
    Window(#[source] CacheError),
    /// A unit of work cannot carry this effect. The effect was not recorded; the unit of work is unchanged.
    #[error("{0}")]
    Effect(String),
    /// The effects are larger than the database accepts in one message (MySQL and MariaDB: `max_allowed_packet`). None of them was
    /// sent, and the transaction was rolled back. Raise the server's limit, or store the data elsewhere and publish its key.
    #[error(
        "{what} of {bytes} bytes cannot be written: the database accepts {limit} bytes in one message (max_allowed_packet); \
         raise the limit, or store the data elsewhere and send its key"
    )]
    TooLarge {
        /// What is too large: a message with a key, or all other effects together.
        what: &'static str,
        /// Its size in bytes.
        bytes: u64,
        /// The limit of the database in bytes.
        limit: u64,
    },
    /// The job cannot be enqueued.
    #[cfg(feature = "queue")]
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// A setting of the database or of the pool's connections does not allow a relay to work. Nothing was claimed. The text names the
    /// setting and the statement that changes it.
    #[error("{0}")]
    Settings(String),
    /// A row of the outbox cannot be decoded: a newer version of the library wrote it, or a program with more features than this one.
    #[error("an effect in the outbox cannot be decoded ({0}); a newer program may have written it")]
    Unreadable(&'static str),
    /// The runtime shut down and ended the task of the commit. The outcome is as unknown as for [`SqlError::OutcomeUnknown`].
    #[error("the runtime shut down during the commit; if it was committed, its effects are carried out")]
    Interrupted,
    /// The commit of a transaction without effects was sent and its reply was lost: it may or may not have been committed. To find
    /// out which, read a row that the transaction changed, later.
    #[error(
        "it is unknown whether the transaction was committed ({}); read what it changed before repeating it",
        driver_text(.0)
    )]
    CommitUnknown(Arc<sqlx::Error>),
}

impl SqlError {
    /// Whether the same unit of work may succeed if it is repeated from its beginning. Never true after an unknown outcome, because a
    /// repetition might apply it twice.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Database { is_retryable, .. } => *is_retryable,
            Self::Busy(_) | Self::Lost | Self::Poisoned(_) => true,
            #[cfg(feature = "cache")]
            Self::Window(error) => error.is_retryable(),
            #[cfg(feature = "queue")]
            Self::Queue(error) => error.is_retryable(),
            _ => false,
        }
    }

    /// The error of a commit: after a reply of the database its outcome is known, unless the reply says that the connection was lost.
    pub(super) fn of_commit(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::InvalidSavePointStatement => Self::OpenSavepoint,
            error @ sqlx::Error::Database(_) if class_of_error(&error) != SqlErrorClass::Connection => error.into(),
            error if guard("locking_commit_may_have_happened") => Self::CommitUnknown(Arc::new(error)),
            error => error.into(),
        }
    }

    /// Whether the connection that returned this error is of no use any longer.
    pub(super) fn ends_session(&self) -> bool {
        matches!(self, Self::Database { error, .. } if class_of_error(error).ends_session())
    }

    /// Whether the transaction may have been committed although the call failed.
    #[must_use]
    pub fn outcome_unknown(&self) -> bool {
        matches!(self, Self::OutcomeUnknown { .. } | Self::Interrupted | Self::CommitUnknown(_))
    }
}

/// The driver's text. To PostgreSQL's message the driver adds "at line 948", the line of the server's source code.
fn driver_text(error: &sqlx::Error) -> String {
    #[cfg(feature = "postgres")]
    if let sqlx::Error::Database(error) = error
        && let Some(error) = error.try_downcast_ref::<sqlx::postgres::PgDatabaseError>()
    {
        return format!("{} (SQLSTATE {})", error.message(), error.code());
    }
    error.to_string()
}

/// Converts an error of the driver: for every database, a deadlock, a lost connection and a server that has become read-only are
/// retryable, and a missing table of the library is [`SqlError::NotMigrated`].
impl From<sqlx::Error> for SqlError {
    fn from(error: sqlx::Error) -> Self {
        let class = if guard("question_mark_classifies") { class_of_error(&error) } else { SqlErrorClass::Other };
        if class == SqlErrorClass::NoTable {
            return Self::NotMigrated;
        }
        let is_retryable = class.is_retryable() || matches!(error, sqlx::Error::PoolTimedOut);
        Self::Database { error: Arc::new(error), is_retryable }
    }
}

/// The error of a sequence, whose blocks are in a database.
#[cfg(feature = "id")]
impl From<SqlError> for IdError {
    fn from(error: SqlError) -> Self {
        Self::Database { is_retryable: error.is_retryable(), error: Arc::new(error) }
    }
}

/// The error of a lock that is stored in a database.
#[cfg(feature = "lock")]
impl From<SqlError> for LockError {
    fn from(error: SqlError) -> Self {
        // A statement outside a transaction failed: its effect is known not to have happened only if it was never sent.
        let outcome_unknown = match &error {
            SqlError::Database { error, .. } => {
                !matches!(**error, sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed)
                    && class_of_error(error) != SqlErrorClass::Full
            }
            SqlError::Busy(_) => true,
            _ => false,
        };
        Self::Database { is_retryable: error.is_retryable(), outcome_unknown, error: Arc::new(error) }
    }
}
