//! What the library asks of a database. Private in all but name: the trait that programs see is sealed by it.

use super::statement::Value;
use std::future::Future;

/// Which one it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// MySQL or MariaDB.
    MySql,
    /// PostgreSQL.
    Postgres,
    /// SQLite.
    Sqlite,
}

/// What a failed statement means for the transaction around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A deadlock, a lock that was not given in time, or a snapshot that cannot be kept: the transaction is lost, and the same
    /// work may succeed when it is done again from its beginning.
    Contention,
    /// A row with this key is there already.
    Duplicate,
    /// The table is not there: the migrations have not been run.
    NoTable,
    /// There is no savepoint of this name: the transaction that had it has ended.
    NoSavepoint,
    /// The connection went, or nobody knows what became of the statement.
    Connection,
    /// Anything else.
    Other,
}

/// How statements are sent and rows are read.
pub trait Dialect: sqlx::Database {
    /// Which one it is.
    const KIND: Kind;
    /// Now, by the database's own clock, in ms since 1970: an expression.
    const NOW_MS: &'static str;
    /// Lets claims of several processes pass each other: stands at the end of a `SELECT`.
    const SKIP_LOCKED: &'static str;
    /// How a transaction begins whose first statement writes.
    const BEGIN: &'static str;
    /// Follows the words that begin a work's transaction, in the same message: notes the work in the transaction, for as long as that
    /// lasts. `{work}` stands for its id, in hexadecimal. A savepoint ends with its transaction, whoever ends that: a deadlock, a
    /// `ROLLBACK`, the commit that a `CREATE TABLE` implies.
    const MARK: &'static str = "SAVEPOINT evenkeel_work";
    /// Takes the mark away, and fails if it is not there: what follows in the same message is not executed then. Empty where
    /// [`IF_MARKED`](Self::IF_MARKED) does it.
    const UNMARK: &'static str = "RELEASE SAVEPOINT evenkeel_work";
    /// Stands at the end of a `SELECT` whose first value is the work's id: nothing is selected if the mark is gone. Empty where
    /// [`UNMARK`](Self::UNMARK) does it.
    const IF_MARKED: &'static str = "";
    /// Limits how long the statements of this connection wait for a lock. The connection is not used for anything else after.
    const LOCK_WAIT: &'static str;
    /// Tells every process that [listens](Self::listen); `None` where the database cannot.
    const NOTIFY: Option<&'static str> = None;

    /// Whether the connection keeps the statements of [`send_text`](Self::send_text) and [`rows_of_text`](Self::rows_of_text). To close
    /// one on MySQL is a message without an answer, after which the next message waits for the server's delayed acknowledgement
    /// (40 ms on Linux; sqlx 0.9.0 leaves Nagle's algorithm on).
    const KEEPS_TEXT: bool = false;

    /// Calls `heard` once it listens, and then whenever somebody may have notified; a connection that was lost and came back
    /// counts. Takes a connection of its own. Answers at once where the database has no notifications.
    fn listen(
        _pool: &sqlx::Pool<Self>,
        _heard: &(dyn Fn() + Send + Sync),
    ) -> impl Future<Output = Result<(), sqlx::Error>> + Send {
        std::future::ready(Ok(()))
    }

    /// Sends one statement; the number of rows that it found.
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

    /// Sends text as it is: several statements, or one that cannot be prepared. Never anything a user wrote.
    fn script(
        connection: &mut Self::Connection,
        text: &'static str,
    ) -> impl Future<Output = Result<(), sqlx::Error>> + Send;

    /// Sends text that was put together at run time: several statements, or one with values. Never anything a user wrote.
    fn send_text(
        connection: &mut Self::Connection,
        text: String,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<u64, sqlx::Error>> + Send;

    /// Sends one statement that was put together at run time, and collects its rows.
    fn rows_of_text(
        connection: &mut Self::Connection,
        text: String,
    ) -> impl Future<Output = Result<Vec<Self::Row>, sqlx::Error>> + Send;

    /// Whether a statement of a migration was refused because what it makes is there already, or what it removes is gone.
    fn is_done_already(_error: &dyn sqlx::error::DatabaseError) -> bool {
        false
    }

    /// Whether the connection is in the transaction that was [marked](Self::MARK). Asked once: it may take the mark away.
    fn is_marked(
        connection: &mut Self::Connection,
        _work: &[u8],
    ) -> impl Future<Output = Result<bool, sqlx::Error>> + Send {
        async { Self::was_marked(Self::script(connection, Self::UNMARK).await) }
    }

    /// Inserts the row of a work, by a statement that [asks for the mark](Self::IF_MARKED) itself where it can, if the mark is there;
    /// whether it was.
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

    /// What the answer to [`UNMARK`](Self::UNMARK), and to whatever followed it, says of the mark.
    fn was_marked(answer: Result<(), sqlx::Error>) -> Result<bool, sqlx::Error> {
        match answer {
            Ok(()) => Ok(true),
            Err(error) if Self::trouble(&error) == Trouble::NoSavepoint => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Column `at` as a number.
    fn int(row: &Self::Row, at: usize) -> Result<Option<i64>, sqlx::Error>;

    /// Column `at` as bytes.
    fn bytes(row: &Self::Row, at: usize) -> Result<Option<Vec<u8>>, sqlx::Error>;

    /// Column `at` as text.
    fn text(row: &Self::Row, at: usize) -> Result<Option<String>, sqlx::Error>;

    /// What the database's own words mean.
    fn trouble_of(error: &dyn sqlx::error::DatabaseError) -> Trouble;

    /// What an error means.
    fn trouble(error: &sqlx::Error) -> Trouble {
        match error {
            sqlx::Error::Database(error) => Self::trouble_of(&**error),
            error => trouble_of_driver(error),
        }
    }

    /// The most bytes that the server takes in one message, if it says so.
    fn message_bytes_max(
        _connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<Option<u64>, sqlx::Error>> + Send {
        std::future::ready(Ok(None))
    }
}

/// What an error means that no database has said.
fn trouble_of_driver(error: &sqlx::Error) -> Trouble {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed | sqlx::Error::Tls(_) => {
            Trouble::Connection
        }
        _ => Trouble::Other,
    }
}

/// What an error means, of whichever database it is.
pub(crate) fn trouble_of_any(error: &sqlx::Error) -> Trouble {
    let Some(said) = error.as_database_error() else { return trouble_of_driver(error) };
    #[cfg(feature = "mysql")]
    if said.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>().is_some() {
        return sqlx::MySql::trouble_of(said);
    }
    #[cfg(feature = "postgres")]
    if said.try_downcast_ref::<sqlx::postgres::PgDatabaseError>().is_some() {
        return sqlx::Postgres::trouble_of(said);
    }
    #[cfg(feature = "sqlite")]
    if said.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some() {
        return sqlx::Sqlite::trouble_of(said);
    }
    let _ = said;
    Trouble::Other
}

/// What is the same in all of them but for the types.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
macro_rules! same_for {
    (@text spelled, $statement:expr, $values:expr) => {
        as_text($statement, $values)
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
            let query = values.iter().fold(sqlx::query::<$database>(statement), |query, value| match value {
                Value::Int(number) => query.bind(*number),
                Value::MaybeInt(number) => query.bind(*number),
                Value::Bytes(bytes) => query.bind(*bytes),
                Value::MaybeBytes(bytes) => query.bind(*bytes),
                Value::Text(text) => query.bind(*text),
                Value::MaybeText(text) => query.bind(*text),
            });
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
            let query = values.iter().fold(sqlx::query::<$database>(statement), |query, value| match value {
                Value::Int(number) => query.bind(*number),
                Value::MaybeInt(number) => query.bind(*number),
                Value::Bytes(bytes) => query.bind(*bytes),
                Value::MaybeBytes(bytes) => query.bind(*bytes),
                Value::Text(text) => query.bind(*text),
                Value::MaybeText(text) => query.bind(*text),
            });
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
            let query = sqlx::query::<$database>(sqlx::AssertSqlSafe(text)).persistent(Self::KEEPS_TEXT);
            let query = values.iter().fold(query, |query, value| match value {
                Value::Int(number) => query.bind(*number),
                Value::MaybeInt(number) => query.bind(*number),
                Value::Bytes(bytes) => query.bind(*bytes),
                Value::MaybeBytes(bytes) => query.bind(*bytes),
                Value::Text(text) => query.bind(*text),
                Value::MaybeText(text) => query.bind(*text),
            });
            Ok(query.execute(connection).await?.rows_affected())
        }

        async fn rows_of_text(connection: &mut Self::Connection, text: String) -> Result<Vec<Self::Row>, sqlx::Error> {
            let query = sqlx::query::<$database>(sqlx::AssertSqlSafe(text)).persistent(Self::KEEPS_TEXT);
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
