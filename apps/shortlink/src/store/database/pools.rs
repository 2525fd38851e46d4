//! [`Pools`]: the connection pools of one database.

use super::dialect::Dialect;
use crate::domain::{Code, Link, Page, PageRequest};
use crate::store::StoreError;
use crate::store::statements::{self, RowLock};
use sqlx::Pool;
use sqlx::pool::PoolConnection;

/// The connection pools of one database.
pub(in crate::store) struct Pools<DB: Dialect> {
    /// For writes.
    pub(in crate::store) writers: Pool<DB>,
    /// For reads.
    pub(in crate::store) readers: Pool<DB>,
    /// For lists and searches, which scan the table and must not take connections from redirects.
    pub(in crate::store) lists: Pool<DB>,
}

/// Concurrent lists and searches. Two leave capacity of a small machine to the redirects.
pub(in crate::store) const LISTS_MAX: u32 = 2;

impl<DB: Dialect> Pools<DB> {
    /// One pool for reading and writing.
    pub(in crate::store) fn shared(pool: Pool<DB>, lists: Pool<DB>) -> Self {
        Self { writers: pool.clone(), readers: pool, lists }
    }

    pub(in crate::store) async fn writer(&self) -> Result<PoolConnection<DB>, StoreError> {
        Ok(self.writers.acquire().await?)
    }

    pub(in crate::store) async fn reader(&self) -> Result<PoolConnection<DB>, StoreError> {
        Ok(self.readers.acquire().await?)
    }

    pub(in crate::store) async fn find_many(&self, codes: &[Code]) -> Result<Vec<Link>, StoreError> {
        statements::find_many::<DB>(&mut *self.reader().await?, codes, RowLock::None).await
    }

    pub(in crate::store) async fn page(&self, request: &PageRequest) -> Result<Page, StoreError> {
        statements::page::<DB>(&mut *self.lists.acquire().await?, request).await
    }

    pub(in crate::store) async fn rows_after(
        &self,
        after: i64,
        limit: u32,
        ending_after_ms: Option<i64>,
    ) -> Result<Vec<(i64, Link)>, StoreError> {
        statements::rows_after::<DB>(&mut *self.reader().await?, after, limit, ending_after_ms).await
    }

    pub(in crate::store) async fn checkpoint(&self, source: &str) -> Result<Option<String>, StoreError> {
        statements::checkpoint::<DB>(&mut *self.reader().await?, source).await
    }

    pub(in crate::store) async fn delete_checkpoint(&self, source: &str) -> Result<(), StoreError> {
        statements::delete_checkpoint::<DB>(&mut *self.writer().await?, source).await
    }

    pub(in crate::store) async fn setting_or_insert(&self, name: &str, value: &str) -> Result<String, StoreError> {
        statements::setting_or_insert::<DB>(&mut *self.writer().await?, name, value).await
    }

    pub(in crate::store) async fn ping(&self) -> Result<(), StoreError> {
        statements::ping::<DB>(&mut *self.reader().await?).await
    }

    /// Creates or upgrades the library's tables.
    pub(in crate::store) async fn migrate(&self) -> Result<(), StoreError> {
        Ok(evenkeel::sql::migrate(&self.writers).await?)
    }

    pub(in crate::store) async fn close(&self) {
        self.lists.close().await;
        self.readers.close().await;
        self.writers.close().await;
    }
}
