//! What differs between the databases in SQL, as values, and what their errors mean.

use crate::sql::Conflict;

/// The kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// MySQL or MariaDB.
    MySql,
    /// PostgreSQL.
    Postgres,
    /// SQLite.
    Sqlite,
}

/// The texts that a database stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    /// Every text.
    Unicode,
    /// Those of another encoding, of which only ASCII is certain.
    Ascii,
}

/// The class of an error: what a failed statement means for its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SqlErrorClass {
    /// A deadlock, a lock timeout or a serialization failure: the transaction is lost, and the same unit of work may succeed if it is
    /// repeated from its beginning.
    Contention(Conflict),
    /// A row with this key exists already.
    Duplicate,
    /// The table does not exist: the migrations have not been run.
    NoTable,
    /// The savepoint does not exist: its transaction has ended.
    NoSavepoint,
    /// The connection was lost, or the outcome of the statement is unknown.
    Connection,
    /// The server had ended the session before the statement, which was not executed: an idle timeout.
    #[cfg_attr(
        all(feature = "sqlite", not(any(feature = "mysql", feature = "postgres"))),
        expect(dead_code, reason = "SQLite has no server that ends sessions")
    )]
    SessionOver,
    /// The server has become read-only: another one is the primary now, and a new connection may reach it.
    ReadOnly,
    /// The server has no connection left.
    Full,
    /// Anything else.
    Other,
}

impl SqlErrorClass {
    /// Whether the same unit of work may succeed if it is repeated.
    pub(crate) fn is_contention(self) -> bool {
        matches!(self, Self::Contention(_))
    }

    /// Whether the session is of no use any longer, so that its connection must not return to the pool.
    pub(crate) fn ends_session(self) -> bool {
        matches!(self, Self::Connection | Self::SessionOver | Self::ReadOnly)
    }

    /// Whether the same work may succeed if it is repeated from its beginning.
    pub(crate) fn is_retryable(self) -> bool {
        self.is_contention() || self.ends_session() || self == Self::Full
    }
}

/// The SQL of a database, where it is not the same in all.
#[derive(Debug)]
pub struct Dialect {
    /// The kind of database.
    pub kind: Kind,
    /// An expression for the current time by the database's clock, in ms since 1970.
    pub now_ms: &'static str,
    /// Appended to a `SELECT` so that claims of several processes do not wait for each other.
    pub skip_locked: &'static str,
    /// Appended to a `SELECT` so that its rows do not change before the end of the transaction.
    pub for_share: &'static str,
    /// The functions for the greatest and the least of several values.
    pub greatest_least: [&'static str; 2],
    /// Before and after a row that is inserted unless its key exists.
    pub insert_ignore: [&'static str; 2],
    /// The statement that begins a transaction whose first statement writes.
    pub begin: &'static str,
    /// Sent in the same message before each statement that begins a transaction, also one of the program: the end of the transaction is then
    /// neither the beginning of another one nor the end of the connection, whatever the configuration of the server and of the pool says.
    pub before_begin: &'static str,
    /// Sent in the same message as the statement that begins the transaction of a unit of work: a marker that exists as long as that
    /// transaction. `{work}` is replaced by the id of the unit of work, in hexadecimal. A savepoint ends with its transaction,
    /// whether that ends by a deadlock, a `ROLLBACK` or the implicit commit of a `CREATE TABLE`.
    pub mark: &'static str,
    /// Removes the marker, and fails if it does not exist: the rest of the same message is not executed then. Empty where
    /// [`if_marked`](Self::if_marked) checks the marker.
    pub unmark: &'static str,
    /// Appended to a `SELECT` whose first value is the id of the unit of work: it selects nothing if the marker does not exist. Empty
    /// where [`unmark`](Self::unmark) checks the marker.
    pub if_marked: &'static str,
    /// Limits how long statements of this connection wait for a lock. The connection is not used for anything else afterwards.
    pub lock_wait: &'static str,
    /// Notifies all processes that listen; `None` if the database has no notifications.
    pub notify: Option<&'static str>,
    /// Whether the connection caches the statements that are composed at run time. On MySQL, closing a statement is a message without a
    /// reply, and the next message then waits for the server's delayed acknowledgement (40 ms on Linux; sqlx 0.9.0 does not set
    /// `TCP_NODELAY`).
    pub caches_statements: bool,
}

/// The marker of databases that check it by removing it.
#[cfg(any(feature = "mysql", feature = "sqlite"))]
pub(super) const SAVEPOINT: [&str; 2] = ["SAVEPOINT evenkeel_work", "RELEASE SAVEPOINT evenkeel_work"];

/// Classifies an error that did not come from a database.
fn class_of_driver_error(error: &sqlx::Error) -> SqlErrorClass {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed | sqlx::Error::Tls(_) => {
            SqlErrorClass::Connection
        }
        _ => SqlErrorClass::Other,
    }
}

/// Classifies an error of any of the databases.
pub(crate) fn class_of_error(error: &sqlx::Error) -> SqlErrorClass {
    let Some(said) = error.as_database_error() else { return class_of_driver_error(error) };
    #[cfg(feature = "mysql")]
    if let Some(said) = said.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        return super::mysql::class_of(said);
    }
    #[cfg(feature = "postgres")]
    if let Some(said) = said.try_downcast_ref::<sqlx::postgres::PgDatabaseError>() {
        return super::postgres::class_of(said);
    }
    #[cfg(feature = "sqlite")]
    if let Some(said) = said.try_downcast_ref::<sqlx::sqlite::SqliteError>() {
        return super::sqlite::class_of(said);
    }
    let _ = said;
    SqlErrorClass::Other
}

/// Whether a statement of a migration failed because the object that it creates exists already, or the one that it drops does not. Asked
/// where a migration is not one transaction: on MySQL and MariaDB.
pub(crate) fn is_done_already(error: &dyn sqlx::error::DatabaseError) -> bool {
    #[cfg(feature = "mysql")]
    if let Some(said) = error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        return super::mysql::is_done_already(said);
    }
    let _ = error;
    false
}
