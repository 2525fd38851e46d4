//! [`Driver`]: executes a [`Statement`] and reads its rows; the same on every database except for sqlx's types.

use super::Statement;
use std::future::Future;

/// A database that executes a [`Statement`].
pub trait Driver: sqlx::Database {
    /// Executes a statement and returns the number of affected rows.
    fn execute_statement(
        connection: &mut Self::Connection,
        statement: Statement,
    ) -> impl Future<Output = Result<u64, sqlx::Error>> + Send;

    /// Executes a query and returns its rows.
    fn fetch_rows(
        connection: &mut Self::Connection,
        statement: Statement,
    ) -> impl Future<Output = Result<Vec<Self::Row>, sqlx::Error>> + Send;

    /// Executes a query and returns the integers of its first column.
    fn fetch_ints(
        connection: &mut Self::Connection,
        statement: Statement,
    ) -> impl Future<Output = Result<Vec<i64>, sqlx::Error>> + Send {
        let rows = Self::fetch_rows(connection, statement);
        async move { rows.await?.iter().map(|row| Self::int_at(row, 0)).collect() }
    }

    /// Executes a query and returns the texts of its first column.
    fn fetch_texts(
        connection: &mut Self::Connection,
        statement: Statement,
    ) -> impl Future<Output = Result<Vec<String>, sqlx::Error>> + Send {
        let rows = Self::fetch_rows(connection, statement);
        async move { rows.await?.iter().map(|row| Self::text_at(row, 0)).collect() }
    }

    /// The integer in a column.
    ///
    /// # Errors
    /// The column does not exist or has another type.
    fn int_at(row: &Self::Row, column: usize) -> Result<i64, sqlx::Error>;

    /// The integer in a column, or NULL.
    ///
    /// # Errors
    /// The column does not exist or has another type.
    fn optional_int_at(row: &Self::Row, column: usize) -> Result<Option<i64>, sqlx::Error>;

    /// The boolean in a column.
    ///
    /// # Errors
    /// The column does not exist or has another type.
    fn bool_at(row: &Self::Row, column: usize) -> Result<bool, sqlx::Error>;

    /// The text in a column.
    ///
    /// # Errors
    /// The column does not exist or has another type.
    fn text_at(row: &Self::Row, column: usize) -> Result<String, sqlx::Error>;
}

macro_rules! driver {
    ($database:ty) => {
        pub(super) fn built(statement: $crate::sql::Statement) -> sqlx::QueryBuilder<$database> {
            use $crate::sql::Value;
            use $crate::sql::statement::Part;
            let mut query = sqlx::QueryBuilder::<$database>::new("");
            for part in statement.into_parts() {
                match part {
                    Part::Text(text) => query.push(text),
                    Part::Value(Value::Int(number)) => query.push_bind(number),
                    Part::Value(Value::OptionalInt(number)) => query.push_bind(number),
                    Part::Value(Value::Bool(flag)) => query.push_bind(flag),
                    Part::Value(Value::Text(text)) => query.push_bind(text),
                    Part::Value(Value::Bytes(bytes)) => query.push_bind(bytes),
                };
            }
            query
        }

        impl $crate::sql::Driver for $database {
            async fn execute_statement(
                connection: &mut Self::Connection,
                statement: $crate::sql::Statement,
            ) -> Result<u64, sqlx::Error> {
                Ok(built(statement).build().execute(connection).await?.rows_affected())
            }

            async fn fetch_rows(
                connection: &mut Self::Connection,
                statement: $crate::sql::Statement,
            ) -> Result<Vec<Self::Row>, sqlx::Error> {
                built(statement).build().fetch_all(connection).await
            }

            fn int_at(row: &Self::Row, column: usize) -> Result<i64, sqlx::Error> {
                sqlx::Row::try_get(row, column)
            }

            fn optional_int_at(row: &Self::Row, column: usize) -> Result<Option<i64>, sqlx::Error> {
                sqlx::Row::try_get(row, column)
            }

            fn bool_at(row: &Self::Row, column: usize) -> Result<bool, sqlx::Error> {
                sqlx::Row::try_get(row, column)
            }

            fn text_at(row: &Self::Row, column: usize) -> Result<String, sqlx::Error> {
                sqlx::Row::try_get(row, column)
            }
        }
    };
}
pub(super) use driver;

#[cfg(test)]
mod tests {
    use super::Statement;

    #[test]
    fn placeholders_follow_the_syntax_of_the_database() {
        let statement = || Statement::with_values("SELECT a FROM t WHERE a = ? AND b = ?", [1.into(), "x".into()]);
        let postgres = super::super::postgres::built(statement());
        assert_eq!(postgres.sql(), "SELECT a FROM t WHERE a = $1 AND b = $2");
        let mysql = super::super::mysql::built(statement());
        assert_eq!(mysql.sql(), "SELECT a FROM t WHERE a = ? AND b = ?");
    }
}
