//! The interface between the library and the driver of a database: an object, so that everything above it is compiled once and not for
//! each database. It is public in name only: it seals the trait that programs see.

use super::dialect::{Dialect, SqlErrorClass, Stores, class_of_error};
use super::row::Row;
use super::statement::Value;
use async_trait::async_trait;
use sqlx::SqlStr;
use std::any::Any;

/// A connection of any of the databases.
pub(crate) type Connection = dyn Driver;

/// Sends statements on a connection, reads their rows, and counts its transactions.
#[async_trait]
pub trait Driver: Any + Send {
    /// The SQL of its database.
    fn dialect(&self) -> &'static Dialect;

    /// Sends one statement; returns the number of affected rows.
    async fn execute(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<u64, sqlx::Error>;

    /// Sends one statement and collects its rows.
    async fn rows(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>, sqlx::Error>;

    /// Sends text unchanged: several statements, or one that cannot be prepared. The text never contains user input.
    async fn script(&mut self, text: &'static str) -> Result<(), sqlx::Error>;

    /// Sends text that was composed at run time: several statements, or one with values. The text never contains unescaped user
    /// input.
    async fn send_text(&mut self, text: String, values: &[Value<'_>]) -> Result<u64, sqlx::Error>;

    /// Sends one statement that was composed at run time, and collects its rows.
    async fn rows_of_text(&mut self, text: String) -> Result<Vec<Row>, sqlx::Error>;

    /// Whether the connection is in the transaction that was [marked](Dialect::mark). Called once: the check may remove the marker.
    async fn is_marked(&mut self, _work: &[u8]) -> Result<bool, sqlx::Error> {
        was_marked(self.script(self.dialect().unmark).await)
    }

    /// Inserts the row of a unit of work if the marker exists, by a statement that [checks it](Dialect::if_marked) where the database
    /// can; returns whether it did.
    async fn insert_marked(
        &mut self,
        work: &[u8],
        statement: &'static str,
        values: &[Value<'_>],
    ) -> Result<bool, sqlx::Error> {
        let is_marked = self.dialect().unmark.is_empty() || self.is_marked(work).await?;
        Ok(is_marked && self.execute(statement, values).await? == 1)
    }

    /// Checks that the settings of the server and of this connection allow a relay to work, and returns what texts the database stores.
    ///
    /// The error names the setting and the statement that changes it.
    async fn check_settings(&mut self) -> Result<Result<Stores, String>, sqlx::Error> {
        Ok(Ok(Stores::Unicode))
    }

    /// The maximum size of a message in bytes, if the server reports one.
    async fn message_bytes_max(&mut self) -> Result<Option<u64>, sqlx::Error> {
        Ok(None)
    }

    /// Begins a transaction with this statement, which the driver counts.
    async fn begin(&mut self, statement: SqlStr) -> Result<(), sqlx::Error>;

    /// Commits the innermost transaction that the driver counts.
    async fn commit(&mut self) -> Result<(), sqlx::Error>;

    /// Rolls the innermost transaction that the driver counts back.
    async fn rollback(&mut self) -> Result<(), sqlx::Error>;

    /// Has the driver roll the innermost transaction back before the connection is used again.
    fn start_rollback(&mut self);

    /// The number of nested transactions that the driver counts.
    fn depth(&self) -> usize;

    /// Closes a connection in order that belongs to no pool.
    async fn close(self: Box<Self>) -> Result<(), sqlx::Error>;
}

/// Whether the marker existed, according to the result of [`Dialect::unmark`] and the statements after it.
pub(super) fn was_marked(answer: Result<(), sqlx::Error>) -> Result<bool, sqlx::Error> {
    match answer {
        Ok(()) => Ok(true),
        Err(error) if class_of_error(&error) == SqlErrorClass::NoSavepoint => Ok(false),
        Err(error) => Err(error),
    }
}

/// Statements are prepared.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(super) fn prepared(_statement: &str, _values: &[Value<'_>]) -> Option<sqlx::AssertSqlSafe<String>> {
    None
}

/// The driver of a database, which differs from the others only in types, and in the methods that are given.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
macro_rules! driver {
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
    ($database:ty, $connection:ty, $row:path, $as_text:expr, { $($own:tt)* }) => {
        #[async_trait::async_trait]
        impl Driver for $connection {
            fn dialect(&self) -> &'static Dialect {
                <$database as Typed>::DIALECT
            }

            async fn execute(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<u64, sqlx::Error> {
                if let Some(text) = $as_text(statement, values) {
                    return Ok(sqlx::raw_sql(text).execute(self).await?.rows_affected());
                }
                let query = driver!(@bind sqlx::query::<$database>(statement), values);
                Ok(query.execute(self).await?.rows_affected())
            }

            async fn rows(
                &mut self,
                statement: &'static str,
                values: &[Value<'_>],
            ) -> Result<Vec<Row>, sqlx::Error> {
                let rows = match $as_text(statement, values) {
                    Some(text) => sqlx::raw_sql(text).fetch_all(self).await?,
                    None => driver!(@bind sqlx::query::<$database>(statement), values).fetch_all(self).await?,
                };
                Ok(rows.into_iter().map($row).collect())
            }

            async fn script(&mut self, text: &'static str) -> Result<(), sqlx::Error> {
                sqlx::raw_sql(text).execute(self).await.map(drop)
            }

            async fn send_text(&mut self, text: String, values: &[Value<'_>]) -> Result<u64, sqlx::Error> {
                if values.is_empty() {
                    return Ok(sqlx::raw_sql(sqlx::AssertSqlSafe(text)).execute(self).await?.rows_affected());
                }
                let query = sqlx::query::<$database>(sqlx::AssertSqlSafe(text));
                let query = driver!(@bind query.persistent(self.dialect().caches_statements), values);
                Ok(query.execute(self).await?.rows_affected())
            }

            async fn rows_of_text(&mut self, text: String) -> Result<Vec<Row>, sqlx::Error> {
                let query = sqlx::query::<$database>(sqlx::AssertSqlSafe(text));
                let rows = query.persistent(self.dialect().caches_statements).fetch_all(self).await?;
                Ok(rows.into_iter().map($row).collect())
            }

            async fn begin(&mut self, statement: sqlx::SqlStr) -> Result<(), sqlx::Error> {
                <$database as sqlx::Database>::TransactionManager::begin(self, Some(statement)).await
            }

            async fn commit(&mut self) -> Result<(), sqlx::Error> {
                <$database as sqlx::Database>::TransactionManager::commit(self).await
            }

            async fn rollback(&mut self) -> Result<(), sqlx::Error> {
                <$database as sqlx::Database>::TransactionManager::rollback(self).await
            }

            fn start_rollback(&mut self) {
                <$database as sqlx::Database>::TransactionManager::start_rollback(self);
            }

            fn depth(&self) -> usize {
                <$database as sqlx::Database>::TransactionManager::get_transaction_depth(self)
            }

            async fn close(self: Box<Self>) -> Result<(), sqlx::Error> {
                sqlx::Connection::close(*self).await
            }

            $($own)*
        }
    };
}
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub(super) use driver;
