//! [`Pools`]: the connection pools of one database.

use super::dialect::Dialect;
use crate::domain::{Code, Link};
use crate::store::StoreError;
use crate::store::statements::{self, RowLock};
use sqlx::Pool;
use sqlx::pool::PoolConnection;
use std::time::Duration;
use web::sql::PoolLimits;

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

/// Timeout for a pooled connection to a server, and for the first connection at the start.
pub(in crate::store) const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

/// The limits of the pools of a server: the one for reading and writing, and the one for lists.
pub(in crate::store) const SHARED: PoolLimits = PoolLimits { connections_max: 16, acquire_timeout: ACQUIRE_TIMEOUT };
pub(in crate::store) const LISTS: PoolLimits = PoolLimits { connections_max: LISTS_MAX, ..SHARED };

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

    pub(in crate::store) async fn close(&self) {
        self.lists.close().await;
        self.readers.close().await;
        self.writers.close().await;
    }
}
