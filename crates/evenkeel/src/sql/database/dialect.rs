//! The interface between the library and a database. It is public in name only: it seals the trait that programs see.

use super::statement::Value;
use crate::sql::Conflict;
use std::future::Future;

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
pub enum SqlErrorClass {
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

/// How statements are sent and rows are read.
pub trait Dialect: sqlx::Database {
    /// The kind of database.
    const KIND: Kind;
    /// An expression for the current time by the database's clock, in ms since 1970.
    const NOW_MS: &'static str;
    /// Appended to a `SELECT` so that claims of several processes do not wait for each other.
    const SKIP_LOCKED: &'static str;
    /// The statement that begins a transaction whose first statement writes.
    const BEGIN: &'static str;
    /// Sent in the same message as the statement that begins the transaction of a unit of work: a marker that exists as long as that
    /// transaction. `{work}` is replaced by the id of the unit of work, in hexadecimal. A savepoint ends with its transaction,
    /// whether that ends by a deadlock, a `ROLLBACK` or the implicit commit of a `CREATE TABLE`.
    const MARK: &'static str = "SAVEPOINT evenkeel_work";
    /// Removes the marker, and fails if it does not exist: the rest of the same message is not executed then. Empty where
    /// [`IF_MARKED`](Self::IF_MARKED) checks the marker.
    const UNMARK: &'static str = "RELEASE SAVEPOINT evenkeel_work";
    /// Appended to a `SELECT` whose first value is the id of the unit of work: it selects nothing if the marker does not exist. Empty
    /// where [`UNMARK`](Self::UNMARK) checks the marker.
    const IF_MARKED: &'static str = "";
    /// Limits how long statements of this connection wait for a lock. The connection is not used for anything else afterwards.
    const LOCK_WAIT: &'static str;
    /// Notifies all processes that [listen](Self::listen); `None` if the database has no notifications.
    const NOTIFY: Option<&'static str> = None;

    /// Whether the connection caches the statements of [`send_text`](Self::send_text) and [`rows_of_text`](Self::rows_of_text). On
    /// MySQL, closing a statement is a message without a reply, and the next message then waits for the server's delayed
    /// acknowledgement (40 ms on Linux; sqlx 0.9.0 does not set `TCP_NODELAY`).
    const CACHES_STATEMENTS: bool = false;

    /// Calls `on_notification` once it listens, after each notification, and after each reconnection, because notifications may have been
    /// missed. Uses a connection of its own. Returns at once if the database has no notifications.
    fn listen(
        _pool: &sqlx::Pool<Self>,
        _on_notification: &(dyn Fn() + Send + Sync),
    ) -> impl Future<Output = Result<(), sqlx::Error>> + Send {
        std::future::ready(Ok(()))
    }

    /// Sends one statement; returns the number of affected rows.
    fn execute(
        connection: &mut Self::Connection,
        statement: &'static str,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<u64, sqlx::Error>> + Send;

    /// Sends one statement and collects its rows.
    fn rows(
        connection: &mut Self::Connection,
        statement: &'static str,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<Vec<Self::Row>, sqlx::Error>> + Send;

    /// Sends text unchanged: several statements, or one that cannot be prepared. The text never contains user input.
    fn script(
        connection: &mut Self::Connection,
        text: &'static str,
    ) -> impl Future<Output = Result<(), sqlx::Error>> + Send;

    /// Sends text that was composed at run time: several statements, or one with values. The text never contains unescaped user
    /// input.
    fn send_text(
        connection: &mut Self::Connection,
        text: String,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<u64, sqlx::Error>> + Send;

    /// Sends one statement that was composed at run time, and collects its rows.
    fn rows_of_text(
        connection: &mut Self::Connection,
        text: String,
    ) -> impl Future<Output = Result<Vec<Self::Row>, sqlx::Error>> + Send;

    /// Whether a statement of a migration failed because the object that it creates exists already, or the one that it drops does
    /// not.
    fn is_done_already(_error: &dyn sqlx::error::DatabaseError) -> bool {
        false
    }

    /// Whether the connection is in the transaction that was [marked](Self::MARK). Called once: the check may remove the marker.
    fn is_marked(
        connection: &mut Self::Connection,
        _work: &[u8],
    ) -> impl Future<Output = Result<bool, sqlx::Error>> + Send {
        async { Self::was_marked(Self::script(connection, Self::UNMARK).await) }
    }

    /// Inserts the row of a unit of work if the marker exists, by a statement that [checks it](Self::IF_MARKED) where the database
    /// can; returns whether it did.
    fn insert_marked(
        connection: &mut Self::Connection,
        work: &[u8],
        statement: &'static str,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<bool, sqlx::Error>> + Send {
        async move {
            let is_marked = Self::UNMARK.is_empty() || Self::is_marked(connection, work).await?;
            Ok(is_marked && Self::execute(connection, statement, values).await? == 1)
        }
    }

    /// Whether the marker existed, according to the result of [`UNMARK`](Self::UNMARK) and the statements after it.
    fn was_marked(answer: Result<(), sqlx::Error>) -> Result<bool, sqlx::Error> {
        match answer {
            Ok(()) => Ok(true),
            Err(error) if Self::class_of_error(&error) == SqlErrorClass::NoSavepoint => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Column `at` as a number.
    fn int(row: &Self::Row, at: usize) -> Result<Option<i64>, sqlx::Error>;

    /// Column `at` as bytes.
    fn bytes(row: &Self::Row, at: usize) -> Result<Option<Vec<u8>>, sqlx::Error>;

    /// Column `at` as text.
    fn text(row: &Self::Row, at: usize) -> Result<Option<String>, sqlx::Error>;

    /// Classifies an error that the database returned.
    fn class_of_server_error(error: &dyn sqlx::error::DatabaseError) -> SqlErrorClass;

    /// Classifies an error.
    fn class_of_error(error: &sqlx::Error) -> SqlErrorClass {
        match error {
            sqlx::Error::Database(error) => Self::class_of_server_error(&**error),
            error => class_of_driver_error(error),
        }
    }

    /// Checks that the settings of the server and of this connection allow a relay to work, and returns what texts the database stores.
    ///
    /// The error names the setting and the statement that changes it.
    fn check_settings(
        _connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<Result<Stores, String>, sqlx::Error>> + Send {
        std::future::ready(Ok(Ok(Stores::Unicode)))
    }

    /// The maximum size of a message in bytes, if the server reports one.
    fn message_bytes_max(
        _connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<Option<u64>, sqlx::Error>> + Send {
        std::future::ready(Ok(None))
    }
}

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
pub(crate) fn class_of_any_error(error: &sqlx::Error) -> SqlErrorClass {
    let Some(said) = error.as_database_error() else { return class_of_driver_error(error) };
    #[cfg(feature = "mysql")]
    if said.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>().is_some() {
        return sqlx::MySql::class_of_server_error(said);
    }
    #[cfg(feature = "postgres")]
    if said.try_downcast_ref::<sqlx::postgres::PgDatabaseError>().is_some() {
        return sqlx::Postgres::class_of_server_error(said);
    }
    #[cfg(feature = "sqlite")]
    if said.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some() {
        return sqlx::Sqlite::class_of_server_error(said);
    }
    let _ = said;
    SqlErrorClass::Other
}

/// The implementation that differs between the databases only in types.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
macro_rules! same_for {
    (@text inlined, $statement:expr, $values:expr) => {
        as_text($statement, $values)
    };
    (@bind $query:expr, $values:expr) => {
        $values.iter().fold($query, |query, value| match value {
            Value::Int(number) => query.bind(*number),
            Value::MaybeInt(number) => query.bind(*number),
            Value::Bytes(bytes) => query.bind(*bytes),
            Value::MaybeBytes(bytes) => query.bind(*bytes),
            Value::Text(text) => query.bind(*text),
            Value::MaybeText(text) => query.bind(*text),
        })
    };
    (@text prepared, $statement:expr, $values:expr) => {
        None::<sqlx::AssertSqlSafe<String>>
    };
    ($database:ty) => {
        same_for!($database, prepared);
    };
    ($database:ty, $how:ident) => {
        async fn execute(
            connection: &mut Self::Connection,
            statement: &'static str,
            values: &[Value<'_>],
        ) -> Result<u64, sqlx::Error> {
            if let Some(text) = same_for!(@text $how, statement, values) {
                return Ok(sqlx::raw_sql(text).execute(connection).await?.rows_affected());
            }
            let query = same_for!(@bind sqlx::query::<$database>(statement), values);
            Ok(query.execute(connection).await?.rows_affected())
        }

        async fn rows(
            connection: &mut Self::Connection,
            statement: &'static str,
            values: &[Value<'_>],
        ) -> Result<Vec<Self::Row>, sqlx::Error> {
            if let Some(text) = same_for!(@text $how, statement, values) {
                return sqlx::raw_sql(text).fetch_all(connection).await;
            }
            let query = same_for!(@bind sqlx::query::<$database>(statement), values);
            query.fetch_all(connection).await
        }

        async fn script(connection: &mut Self::Connection, text: &'static str) -> Result<(), sqlx::Error> {
            sqlx::raw_sql(text).execute(connection).await.map(drop)
        }

        async fn send_text(
            connection: &mut Self::Connection,
            text: String,
            values: &[Value<'_>],
        ) -> Result<u64, sqlx::Error> {
            if values.is_empty() {
                return Ok(sqlx::raw_sql(sqlx::AssertSqlSafe(text)).execute(connection).await?.rows_affected());
            }
            let query = sqlx::query::<$database>(sqlx::AssertSqlSafe(text)).persistent(Self::CACHES_STATEMENTS);
            let query = same_for!(@bind query, values);
            Ok(query.execute(connection).await?.rows_affected())
        }

        async fn rows_of_text(connection: &mut Self::Connection, text: String) -> Result<Vec<Self::Row>, sqlx::Error> {
            let query = sqlx::query::<$database>(sqlx::AssertSqlSafe(text)).persistent(Self::CACHES_STATEMENTS);
            query.fetch_all(connection).await
        }

        fn int(row: &Self::Row, at: usize) -> Result<Option<i64>, sqlx::Error> {
            sqlx::Row::try_get(row, at)
        }

        fn bytes(row: &Self::Row, at: usize) -> Result<Option<Vec<u8>>, sqlx::Error> {
            sqlx::Row::try_get(row, at)
        }
    };
}
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub(super) use same_for;
