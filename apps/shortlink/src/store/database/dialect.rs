//! [`Dialect`]: the SQL that differs between the databases. `statements` has the SQL that they share.

use super::statement::Statement;
use crate::store::rows::LinkRow;
use std::future::Future;

/// Executes a [`Statement`] and decodes its rows. Implemented by `wire!`, because sqlx's types differ per database.
pub(in crate::store) trait Wire: evenkeel::sql::Database {
    /// Executes a statement. Returns the number of affected rows.
    fn send(
        connection: &mut Self::Connection,
        statement: Statement,
    ) -> impl Future<Output = Result<u64, sqlx::Error>> + Send;

    /// The selected links.
    fn fetch_links(
        connection: &mut Self::Connection,
        statement: Statement,
    ) -> impl Future<Output = Result<Vec<LinkRow>, sqlx::Error>> + Send;

    /// The integers of the only selected column.
    fn fetch_numbers(
        connection: &mut Self::Connection,
        statement: Statement,
    ) -> impl Future<Output = Result<Vec<i64>, sqlx::Error>> + Send;

    /// The strings of the only selected column.
    fn fetch_texts(
        connection: &mut Self::Connection,
        statement: Statement,
    ) -> impl Future<Output = Result<Vec<String>, sqlx::Error>> + Send;

    /// The integers and strings of the two selected columns.
    fn fetch_numbered(
        connection: &mut Self::Connection,
        statement: Statement,
    ) -> impl Future<Output = Result<Vec<(i64, String)>, sqlx::Error>> + Send;
}

/// The SQL of one database.
pub(in crate::store) trait Dialect: Wire {
    /// Begins a transaction that writes. Each of its statements sees what is committed when it starts (READ COMMITTED), or the
    /// transaction is the only writer (SQLite).
    const BEGIN_WRITE: &'static str;

    /// The suffix of a `SELECT` that locks its rows until the end of the transaction.
    const FOR_UPDATE: &'static str;

    /// Prefix and suffix of an `INSERT` that does nothing if the row exists.
    const INSERT_IGNORE: (&'static str, &'static str);

    /// Prefix and suffix of an `INSERT` of two columns that updates the second column if the first one exists.
    const UPSERT: (&'static str, &'static str);

    /// Reserves `count` numbers of the sequence. Returns the number after the last of them.
    fn reserve(connection: &mut Self::Connection, count: i64) -> impl Future<Output = Result<i64, sqlx::Error>> + Send;

    /// Adds the condition that code or target match the `LIKE` pattern, ignoring the case of A-Z.
    fn matches(statement: Statement, pattern: String) -> Statement;
}

/// Implements [`Wire`].
macro_rules! wire {
    ($database:ty) => {
        fn built(statement: $crate::store::database::statement::Statement) -> sqlx::QueryBuilder<$database> {
            use $crate::store::database::statement::{Part, Value};
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

        impl $crate::store::database::dialect::Wire for $database {
            async fn send(
                connection: &mut Self::Connection,
                statement: $crate::store::database::statement::Statement,
            ) -> Result<u64, sqlx::Error> {
                Ok(built(statement).build().execute(connection).await?.rows_affected())
            }

            async fn fetch_links(
                connection: &mut Self::Connection,
                statement: $crate::store::database::statement::Statement,
            ) -> Result<Vec<$crate::store::rows::LinkRow>, sqlx::Error> {
                built(statement).build_query_as().fetch_all(connection).await
            }

            async fn fetch_numbers(
                connection: &mut Self::Connection,
                statement: $crate::store::database::statement::Statement,
            ) -> Result<Vec<i64>, sqlx::Error> {
                built(statement).build_query_scalar().fetch_all(connection).await
            }

            async fn fetch_texts(
                connection: &mut Self::Connection,
                statement: $crate::store::database::statement::Statement,
            ) -> Result<Vec<String>, sqlx::Error> {
                built(statement).build_query_scalar().fetch_all(connection).await
            }

            async fn fetch_numbered(
                connection: &mut Self::Connection,
                statement: $crate::store::database::statement::Statement,
            ) -> Result<Vec<(i64, String)>, sqlx::Error> {
                built(statement).build_query_as().fetch_all(connection).await
            }
        }
    };
}
pub(in crate::store) use wire;
