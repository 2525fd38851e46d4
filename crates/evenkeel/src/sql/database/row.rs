//! A row of a result, whose columns are read by index.

use super::Database;

/// A row of a result.
pub(crate) struct Row<DB: Database>(pub(super) DB::Row);

impl<DB: Database> Row<DB> {
    /// Wraps a row of the driver.
    pub(crate) fn wrap(row: DB::Row) -> Self {
        Self(row)
    }

    /// Sends a statement and collects its rows.
    pub(crate) async fn all(
        connection: &mut DB::Connection,
        statement: &'static super::Statement,
        values: &[super::Value<'_>],
    ) -> Result<Vec<Self>, sqlx::Error> {
        let rows = DB::rows(connection, statement.text::<DB>(), values).await?;
        Ok(rows.into_iter().map(Self).collect())
    }

    /// The first row of a result.
    pub(crate) async fn first(
        connection: &mut DB::Connection,
        statement: &'static super::Statement,
        values: &[super::Value<'_>],
    ) -> Result<Option<Self>, sqlx::Error> {
        Ok(Self::all(connection, statement, values).await?.into_iter().next())
    }

    /// A number or `NULL`.
    pub(crate) fn optional_int(&self, at: usize) -> Result<Option<i64>, sqlx::Error> {
        DB::int(&self.0, at)
    }

    /// A number; `NULL` is read as 0.
    pub(crate) fn int(&self, at: usize) -> Result<i64, sqlx::Error> {
        Ok(DB::int(&self.0, at)?.unwrap_or(0))
    }

    /// A number that cannot be negative; `NULL` is read as 0.
    pub(crate) fn count(&self, at: usize) -> Result<u64, sqlx::Error> {
        Ok(u64::try_from(self.int(at)?).unwrap_or(0))
    }

    /// Bytes or `NULL`.
    pub(crate) fn optional_bytes(&self, at: usize) -> Result<Option<Vec<u8>>, sqlx::Error> {
        DB::bytes(&self.0, at)
    }

    /// Bytes; `NULL` is read as no bytes.
    pub(crate) fn bytes(&self, at: usize) -> Result<Vec<u8>, sqlx::Error> {
        Ok(DB::bytes(&self.0, at)?.unwrap_or_default())
    }

    /// Sixteen bytes: an id or a token. Any other length is read as `None`.
    pub(crate) fn id(&self, at: usize) -> Result<Option<[u8; 16]>, sqlx::Error> {
        Ok(DB::bytes(&self.0, at)?.and_then(|bytes| bytes.try_into().ok()))
    }

    /// Text or `NULL`.
    pub(crate) fn optional_text(&self, at: usize) -> Result<Option<String>, sqlx::Error> {
        DB::text(&self.0, at)
    }

    /// Text; `NULL` is read as empty.
    pub(crate) fn text(&self, at: usize) -> Result<String, sqlx::Error> {
        Ok(DB::text(&self.0, at)?.unwrap_or_default())
    }
}
