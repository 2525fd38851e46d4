//! [`RowLocks`]: locks in rows of a database.

use super::row_statements::PRUNE;
use super::row_steps::RowLock;
use crate::lock::acquire::builder::LockBuilder;
use crate::lock::acquire::terms::LockTerms;
use crate::lock::exclusive::{BoxFuture, ExclusiveGuard, ExclusiveLocks};
use crate::lock::store::locks::Locks;
use crate::sql::SqlError;
use crate::sql::database::{Pool, Value};
use evenkeel_protocol::lock::error::LockError;
use evenkeel_protocol::lock::name::LockName;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

/// Locks as rows with a lease in a database, without Redis. Cheap to clone; created by [`Keel::row_locks`].
///
/// **Guarantee.** As [`Keel::lock`], with the clock of the database instead of that of Redis: one holder at a time, rising fences, renewals
/// that check the owner and never create a lock, detection of a loss, acquisitions and guards that may be dropped at any point. The
/// [`Guard`](crate::lock::Guard)s are the same, including [`begin`](crate::lock::Guard::begin).
/// **Not guaranteed.** An order between processes: waiters poll every 50 to 100 ms (the tasks of one process queue locally, and one of them
/// polls). A holder that is paused beyond its lease acts on unless its fence is checked.
///
/// Renewals and releases use one connection in addition to those of the pool, so that transactions under the guards may use them all. An
/// acquisition takes its connection from the pool.
///
/// On SQLite a transaction that writes excludes every other one, and a renewal with it. **A lock is lost if any transaction on the file takes
/// longer than its ttl, that of its own guard included**: choose a ttl that exceeds the longest transaction. Renewals take their connection
/// from the pool there, so with a pool of one connection, as in-memory databases need it, each longer use of that connection counts, reads
/// included.
///
/// [`migrate`](crate::sql::migrate) must have run.
///
/// [`Keel::row_locks`]: crate::Keel::row_locks
/// [`Keel::lock`]: crate::Keel::lock
pub struct RowLocks<DB> {
    locks: Locks,
    pool: Pool,
    database: PhantomData<fn() -> DB>,
}

impl<DB> RowLocks<DB> {
    pub(crate) fn new(locks: &Locks, pool: Pool) -> Self {
        Self { locks: locks.other(&pool, RowLock::over), pool, database: PhantomData }
    }

    /// Begins the acquisition of the lock called `name`: 1 to 512 bytes.
    pub fn lock(&self, name: &str) -> LockBuilder {
        LockBuilder::new(&self.locks, name)
    }

    /// The names of all locks that are held or in their lock delay, sorted.
    ///
    /// # Errors
    /// [`LockError::Database`].
    pub async fn held(&self) -> Result<Vec<LockName>, LockError> {
        self.locks.store.held().await
    }

    /// Deletes the rows of locks that were not held for `unused`; returns their number. New fences of a deleted name are at least the
    /// database's time in µs, so they rise unless its clock was set back by more than `unused`.
    ///
    /// # Errors
    /// [`LockError::Database`].
    pub async fn prune(&self, unused: Duration) -> Result<u64, LockError> {
        prune(&self.pool, unused).await
    }
}

/// Boxed, so that it is compiled here.
fn prune(pool: &Pool, unused: Duration) -> BoxFuture<'_, Result<u64, LockError>> {
    Box::pin(async move {
        let unused_ms = Value::count(u64::try_from(unused.as_millis()).unwrap_or(u64::MAX >> 2).min(1 << 52));
        let pruned = async { PRUNE.execute(&mut *pool.acquire().await?, &[unused_ms]).await };
        pruned.await.map_err(|error: sqlx::Error| LockError::from(SqlError::from(error)))
    })
}

impl<DB> ExclusiveLocks for RowLocks<DB> {
    fn acquire<'a>(
        &'a self,
        name: &'a str,
        terms: &'a LockTerms,
    ) -> BoxFuture<'a, Result<Box<dyn ExclusiveGuard>, LockError>> {
        self.lock(name).acquire_boxed(terms)
    }
}

// Not derived, because the database need not be `Clone` or `Debug`.
impl<DB> Clone for RowLocks<DB> {
    fn clone(&self) -> Self {
        Self { locks: self.locks.clone(), pool: self.pool.clone(), database: PhantomData }
    }
}

impl<DB> fmt::Debug for RowLocks<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowLocks").finish_non_exhaustive()
    }
}
