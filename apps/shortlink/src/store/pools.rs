//! [`Pools`]: the connections to one database.

use super::StoreError;
use super::dialect::Dialect;
use super::statements::{self, Hold};
use crate::domain::{Code, Link, Page, PageRequest};
use sqlx::Pool;
use sqlx::pool::PoolConnection;

/// The connections to one database.
pub(super) struct Pools<DB: Dialect> {
    /// For what changes something.
    pub(super) writers: Pool<DB>,
    /// For what only reads.
    pub(super) readers: Pool<DB>,
    /// For lists and searches, which walk over the table: however many there are, they take no connection from a redirect.
    pub(super) lists: Pool<DB>,
}

/// Lists and searches at once; the others wait. Two leave something of a small machine to the redirects.
pub(super) const LISTS_MAX: u32 = 2;

impl<DB: Dialect> Pools<DB> {
    /// One pool for reading and writing.
    pub(super) fn shared(pool: Pool<DB>, lists: Pool<DB>) -> Self {
        Self { writers: pool.clone(), readers: pool, lists }
    }

    pub(super) async fn writer(&self) -> Result<PoolConnection<DB>, StoreError> {
        Ok(self.writers.acquire().await?)
    }

    pub(super) async fn reader(&self) -> Result<PoolConnection<DB>, StoreError> {
        Ok(self.readers.acquire().await?)
    }

    pub(super) async fn find_many(&self, codes: &[Code]) -> Result<Vec<Link>, StoreError> {
        statements::find_many::<DB>(&mut *self.reader().await?, codes, Hold::No).await
    }

    pub(super) async fn page(&self, request: &PageRequest) -> Result<Page, StoreError> {
        statements::page::<DB>(&mut *self.lists.acquire().await?, request).await
    }

    pub(super) async fn rows_after(
        &self,
        after: i64,
        limit: u32,
        ending_after_ms: Option<i64>,
    ) -> Result<Vec<(i64, Link)>, StoreError> {
        statements::rows_after::<DB>(&mut *self.reader().await?, after, limit, ending_after_ms).await
    }

    pub(super) async fn checkpoint(&self, source: &str) -> Result<Option<String>, StoreError> {
        statements::checkpoint::<DB>(&mut *self.reader().await?, source).await
    }

    pub(super) async fn forget_checkpoint(&self, source: &str) -> Result<(), StoreError> {
        statements::forget_checkpoint::<DB>(&mut *self.writer().await?, source).await
    }

    pub(super) async fn setting_or_insert(&self, name: &str, value: &str) -> Result<String, StoreError> {
        statements::setting_or_insert::<DB>(&mut *self.writer().await?, name, value).await
    }

    pub(super) async fn ping(&self) -> Result<(), StoreError> {
        statements::ping::<DB>(&mut *self.reader().await?).await
    }

    /// Makes the library's own tables, or brings them up to date.
    pub(super) async fn migrate(&self) -> Result<(), StoreError> {
        Ok(evenkeel::sql::migrate(&self.writers).await?)
    }

    pub(super) async fn close(&self) {
        self.lists.close().await;
        self.readers.close().await;
        self.writers.close().await;
    }
}
