//! The few words in which the databases differ, and how a statement is sent.
//!
//! Statements are written for all three: `?` stands for a value, `{int}` for the type that a sum is read as, and `{lock}` for the
//! words that keep the rows of a `SELECT` from others until the transaction ends.

use evenkeel::sql::Conflict;
use sqlx::{Pool, SqlSafeStr, Transaction};
use std::future::Future;

/// A value of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Int(i64),
    Text(&'a str),
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

/// The connections to one database. SQLite has one writer at a time, and a queue in front of it is fairer than a busy lock; on the
/// servers both are the same pool.
pub(crate) struct Pools<DB: Words> {
    pub(crate) writer: Pool<DB>,
    pub(crate) reader: Pool<DB>,
}

impl<DB: Words> Pools<DB> {
    /// Begins a transaction that may write; dropped, it is rolled back.
    pub(crate) async fn begin(&self) -> Result<Transaction<'static, DB>, sqlx::Error> {
        self.writer.begin_with(DB::BEGIN_WRITING.into_sql_str()).await
    }

    pub(crate) async fn close(&self) {
        self.reader.close().await;
        self.writer.close().await;
    }
}

/// One database's own words.
pub(crate) trait Words: evenkeel::sql::Database {
    /// Begins a transaction that may write.
    const BEGIN_WRITING: &'static str;
    /// Begins a transaction that reads one state of the database.
    const SNAPSHOT: &'static str;
    /// `{lock}`
    const LOCK: &'static str;
    /// `{int}`
    const INT: &'static str;

    /// Sends a statement; the number of rows it found.
    fn send(
        connection: &mut Self::Connection,
        sql: &str,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<u64, sqlx::Error>> + Send;

    /// Sends a statement and collects its rows.
    fn fetch(
        connection: &mut Self::Connection,
        sql: &str,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<Vec<Self::Row>, sqlx::Error>> + Send;

    /// Column `at` as a number.
    fn number(row: &Self::Row, at: usize) -> Result<i64, sqlx::Error>;

    /// Column `at` as text.
    fn string(row: &Self::Row, at: usize) -> Result<String, sqlx::Error>;

    /// Whether a transaction that failed so may succeed when it is done again: what the library calls a conflict, and a row that
    /// somebody else has just made.
    fn conflict(error: &sqlx::Error) -> Option<Conflict> {
        let is_made = error.as_database_error().is_some_and(|known| known.is_unique_violation());
        Conflict::of(error).or(is_made.then_some(Conflict::Stale))
    }

    /// What a connection is told before [`SNAPSHOT`](Self::SNAPSHOT).
    fn before_snapshot(connection: &mut Self::Connection) -> impl Future<Output = Result<(), sqlx::Error>> + Send {
        let _ = connection;
        async { Ok(()) }
    }

    /// Sends a statement and takes its first row.
    fn fetch_first(
        connection: &mut Self::Connection,
        sql: &str,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<Option<Self::Row>, sqlx::Error>> + Send {
        let rows = Self::fetch(connection, sql, values);
        async move { Ok(rows.await?.into_iter().next()) }
    }
}

/// The statement as this database wants it; `$1` and so on where values are numbered.
pub(crate) fn spelled<DB: Words>(sql: &str, is_numbered: bool) -> String {
    let text = sql.replace("{lock}", DB::LOCK).replace("{int}", DB::INT);
    if !is_numbered {
        return text;
    }
    let mut numbered = String::with_capacity(text.len() + 16);
    for (number, part) in text.split('?').enumerate() {
        if number > 0 {
            numbered.push('$');
            numbered.push_str(&number.to_string());
        }
        numbered.push_str(part);
    }
    numbered
}

/// What is the same for each database but for its types.
macro_rules! sends {
    ($database:ty, $is_numbered:literal) => {
        async fn send(
            connection: &mut Self::Connection,
            sql: &str,
            values: &[$crate::store::words::Value<'_>],
        ) -> Result<u64, sqlx::Error> {
            let text = $crate::store::words::spelled::<$database>(sql, $is_numbered);
            let query = sqlx::query::<$database>(sqlx::AssertSqlSafe(text));
            let query = values.iter().fold(query, |query, value| match value {
                $crate::store::words::Value::Int(number) => query.bind(*number),
                $crate::store::words::Value::Text(text) => query.bind(*text),
            });
            Ok(query.execute(connection).await?.rows_affected())
        }

        async fn fetch(
            connection: &mut Self::Connection,
            sql: &str,
            values: &[$crate::store::words::Value<'_>],
        ) -> Result<Vec<Self::Row>, sqlx::Error> {
            let text = $crate::store::words::spelled::<$database>(sql, $is_numbered);
            let query = sqlx::query::<$database>(sqlx::AssertSqlSafe(text));
            let query = values.iter().fold(query, |query, value| match value {
                $crate::store::words::Value::Int(number) => query.bind(*number),
                $crate::store::words::Value::Text(text) => query.bind(*text),
            });
            query.fetch_all(connection).await
        }

        fn number(row: &Self::Row, at: usize) -> Result<i64, sqlx::Error> {
            sqlx::Row::try_get(row, at)
        }

        fn string(row: &Self::Row, at: usize) -> Result<String, sqlx::Error> {
            sqlx::Row::try_get(row, at)
        }
    };
}
pub(crate) use sends;

#[cfg(test)]
mod tests {
    use super::spelled;

    #[test]
    fn a_statement_is_spelled_for_its_database() {
        let sql = "SELECT CAST(SUM(a) AS {int}) FROM t WHERE a = ? AND b = ? {lock}";
        assert_eq!(
            spelled::<sqlx::Postgres>(sql, true),
            "SELECT CAST(SUM(a) AS BIGINT) FROM t WHERE a = $1 AND b = $2 FOR UPDATE"
        );
        assert_eq!(
            spelled::<sqlx::MySql>(sql, false),
            "SELECT CAST(SUM(a) AS SIGNED) FROM t WHERE a = ? AND b = ? FOR UPDATE"
        );
    }
}
