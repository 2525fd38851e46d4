//! A row of a result, whose columns are read by index.

use super::driver::Connection;
use super::{Statement, Value};

/// A row of a result of any of the databases.
pub enum Row {
    /// Of MySQL or MariaDB.
    #[cfg(feature = "mysql")]
    MySql(sqlx::mysql::MySqlRow),
    /// Of PostgreSQL.
    #[cfg(feature = "postgres")]
    Postgres(sqlx::postgres::PgRow),
    /// Of SQLite.
    #[cfg(feature = "sqlite")]
    Sqlite(sqlx::sqlite::SqliteRow),
}

/// Reads a column in the same way from the row of each database.
macro_rules! column {
    ($row:expr, $at:expr) => {
        match *$row {
            #[cfg(feature = "mysql")]
            Row::MySql(ref row) => sqlx::Row::try_get(row, $at),
            #[cfg(feature = "postgres")]
            Row::Postgres(ref row) => sqlx::Row::try_get(row, $at),
            #[cfg(feature = "sqlite")]
            Row::Sqlite(ref row) => sqlx::Row::try_get(row, $at),
        }
    };
}

#[cfg_attr(
    not(any(feature = "mysql", feature = "postgres", feature = "sqlite")),
    expect(unused_variables, reason = "without a database there are no rows")
)]
impl Row {
    /// Sends a statement and collects its rows.
    pub(crate) async fn all(
        connection: &mut Connection,
        statement: &'static Statement,
        values: &[Value<'_>],
    ) -> Result<Vec<Self>, sqlx::Error> {
        connection.rows(statement.text(connection.dialect()), values).await
    }

    /// The first row of a result.
    pub(crate) async fn first(
        connection: &mut Connection,
        statement: &'static Statement,
        values: &[Value<'_>],
    ) -> Result<Option<Self>, sqlx::Error> {
        Ok(Self::all(connection, statement, values).await?.into_iter().next())
    }

    /// A number or `NULL`.
    pub(crate) fn optional_int(&self, at: usize) -> Result<Option<i64>, sqlx::Error> {
        column!(self, at)
    }

    /// A number; `NULL` is read as 0.
    pub(crate) fn int(&self, at: usize) -> Result<i64, sqlx::Error> {
        Ok(self.optional_int(at)?.unwrap_or(0))
    }

    /// A number that cannot be negative; `NULL` is read as 0.
    pub(crate) fn count(&self, at: usize) -> Result<u64, sqlx::Error> {
        Ok(u64::try_from(self.int(at)?).unwrap_or(0))
    }

    /// Bytes or `NULL`.
    pub(crate) fn optional_bytes(&self, at: usize) -> Result<Option<Vec<u8>>, sqlx::Error> {
        column!(self, at)
    }

    /// Bytes; `NULL` is read as no bytes.
    pub(crate) fn bytes(&self, at: usize) -> Result<Vec<u8>, sqlx::Error> {
        Ok(self.optional_bytes(at)?.unwrap_or_default())
    }

    /// Sixteen bytes: an id or a token. Any other length is read as `None`.
    pub(crate) fn id(&self, at: usize) -> Result<Option<[u8; 16]>, sqlx::Error> {
        Ok(self.optional_bytes(at)?.and_then(|bytes| bytes.try_into().ok()))
    }

    /// Text or `NULL`.
    pub(crate) fn optional_text(&self, at: usize) -> Result<Option<String>, sqlx::Error> {
        // Names and keys are `VARBINARY` there, because the binary collations of text ignore trailing spaces.
        #[cfg(feature = "mysql")]
        if matches!(self, Self::MySql(_)) {
            let bytes = self.optional_bytes(at)?;
            return bytes.map(String::from_utf8).transpose().map_err(|error| sqlx::Error::Decode(error.into()));
        }
        column!(self, at)
    }

    /// Text; `NULL` is read as empty.
    pub(crate) fn text(&self, at: usize) -> Result<String, sqlx::Error> {
        Ok(self.optional_text(at)?.unwrap_or_default())
    }
}
