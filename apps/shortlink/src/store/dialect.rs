//! [`Dialect`]: what the databases do their own way. Everything else is written once, in `statements`.

use super::rows::LinkRow;
use super::statement::Statement;
use std::future::Future;

/// How a statement is sent and its rows are read: the same in all of them but for the types.
pub(super) trait Wire: evenkeel::sql::Database {
    /// Sends a statement; the number of rows it found.
    fn send(
        connection: &mut Self::Connection,
        statement: Statement,
    ) -> impl Future<Output = Result<u64, sqlx::Error>> + Send;

    /// The links a statement selects.
    fn fetch_links(
        connection: &mut Self::Connection,
        statement: Statement,
    ) -> impl Future<Output = Result<Vec<LinkRow>, sqlx::Error>> + Send;

    /// The numbers in its only column.
    fn fetch_numbers(
        connection: &mut Self::Connection,
        statement: Statement,
    ) -> impl Future<Output = Result<Vec<i64>, sqlx::Error>> + Send;

    /// The texts in its only column.
    fn fetch_texts(
        connection: &mut Self::Connection,
        statement: Statement,
    ) -> impl Future<Output = Result<Vec<String>, sqlx::Error>> + Send;

    /// The numbers and texts in its two columns.
    fn fetch_numbered(
        connection: &mut Self::Connection,
        statement: Statement,
    ) -> impl Future<Output = Result<Vec<(i64, String)>, sqlx::Error>> + Send;
}

/// One database's own words.
pub(super) trait Dialect: Wire {
    /// How a transaction begins that may write. Its reads see what is committed at the time of each statement, or (SQLite) nobody
    /// else writes meanwhile.
    const OPENS: &'static str;

    /// Ends a `SELECT` whose rows nobody else shall change until the end of the transaction.
    const HOLDS: &'static str;

    /// Before and after an `INSERT INTO` that changes nothing if the row is there.
    const KEEPS: (&'static str, &'static str);

    /// Before and after an `INSERT INTO` of two columns that gives the row of the same first one another second one.
    const REPLACES: (&'static str, &'static str);

    /// Takes `count` numbers of the sequence; answers the one after the last of them.
    fn reserve(connection: &mut Self::Connection, count: i64) -> impl Future<Output = Result<i64, sqlx::Error>> + Send;

    /// The condition that code or target contain what `pattern` (of `LIKE`) says, whatever the case of A-Z.
    fn matches(statement: Statement, pattern: String) -> Statement;
}

/// Implements [`Wire`].
macro_rules! wire {
    ($database:ty) => {
        fn built(statement: $crate::store::statement::Statement) -> sqlx::QueryBuilder<$database> {
            use $crate::store::statement::{Part, Value};
            let mut query = sqlx::QueryBuilder::<$database>::new("");
            for part in statement.into_parts() {
                match part {
                    Part::Text(text) => query.push(text),
                    Part::Value(Value::Int(number)) => query.push_bind(number),
                    Part::Value(Value::MaybeInt(number)) => query.push_bind(number),
                    Part::Value(Value::Flag(flag)) => query.push_bind(flag),
                    Part::Value(Value::Text(text)) => query.push_bind(text),
                    Part::Value(Value::Bytes(bytes)) => query.push_bind(bytes),
                };
            }
            query
        }

        impl $crate::store::dialect::Wire for $database {
            async fn send(
                connection: &mut Self::Connection,
                statement: $crate::store::statement::Statement,
            ) -> Result<u64, sqlx::Error> {
                Ok(built(statement).build().execute(connection).await?.rows_affected())
            }

            async fn fetch_links(
                connection: &mut Self::Connection,
                statement: $crate::store::statement::Statement,
            ) -> Result<Vec<$crate::store::rows::LinkRow>, sqlx::Error> {
                built(statement).build_query_as().fetch_all(connection).await
            }

            async fn fetch_numbers(
                connection: &mut Self::Connection,
                statement: $crate::store::statement::Statement,
            ) -> Result<Vec<i64>, sqlx::Error> {
                built(statement).build_query_scalar().fetch_all(connection).await
            }

            async fn fetch_texts(
                connection: &mut Self::Connection,
                statement: $crate::store::statement::Statement,
            ) -> Result<Vec<String>, sqlx::Error> {
                built(statement).build_query_scalar().fetch_all(connection).await
            }

            async fn fetch_numbered(
                connection: &mut Self::Connection,
                statement: $crate::store::statement::Statement,
            ) -> Result<Vec<(i64, String)>, sqlx::Error> {
                built(statement).build_query_as().fetch_all(connection).await
            }
        }
    };
}
pub(super) use wire;
