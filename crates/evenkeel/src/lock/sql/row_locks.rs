//! [`RowLocks`]: locks in rows of a database.

use super::row_statements::PRUNE;
use super::row_steps::RowLock;
use crate::keel::Keel;
use crate::lock::acquire::builder::LockBuilder;
use crate::lock::acquire::terms::LockTerms;
use crate::lock::exclusive::{Boxed, ExclusiveGuard, ExclusiveLocks, fenced};
use crate::lock::store::locks::{Kept, Locks};
use crate::sql::{Database, SqlError, Value};
use evenkeel_protocol::lock::error::LockError;
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::steps::LockSteps;
use sqlx::Pool;
use std::any::TypeId;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Locks that are rows with a lease in a database: no Redis is asked. Cheap to clone; made by [`Keel::row_locks`].
///
/// **Guarantee.** As [`Keel::lock`], with the database's clock in the place of Redis': one holder at a time, fences that rise, renewal
/// that checks the owner and never creates, loss that is noticed, acquisitions and guards that may be dropped anywhere. The
/// [`Guard`](crate::lock::Guard)s are the same, [`begin`](crate::lock::Guard::begin) with them.
/// **Not guaranteed.** An order between processes: who waits asks again every 50 to 100 ms (tasks of one process queue here, and one of
/// them asks). A holder that is paused beyond its lease acts on unless its fence is checked.
///
/// Renewals take connections from the pool: one that work can exhaust for longer than a lease loses locks. Give the locks a small
/// pool of their own then. [`migrate`](crate::sql::migrate) must have run.
pub struct RowLocks<DB: Database> {
    locks: Locks,
    pool: Pool<DB>,
}

impl Keel {
    /// Locks in rows of the database of `pool`. Those of one pool share a queue in this process;
    /// [`shutdown`](Self::shutdown) waits for their releases, too.
    pub fn row_locks<DB: Database>(&self, pool: &Pool<DB>) -> RowLocks<DB> {
        // A pool has no name; its options are kept for as long as it lives, so their place is one.
        let place = Arc::as_ptr(&pool.connect_options()) as usize;
        let make = || -> Arc<dyn LockSteps> { Arc::new(RowLock::new(pool.clone(), self.clock().clone())) };
        let locks = self.locks().other(Kept::Rows(TypeId::of::<DB>()), place, make);
        RowLocks { locks, pool: pool.clone() }
    }
}

impl<DB: Database> RowLocks<DB> {
    /// Begins the acquisition of the lock called `name`: 1 to 512 bytes.
    pub fn lock(&self, name: &str) -> LockBuilder {
        LockBuilder::new(&self.locks, name)
    }

    /// The names of all locks that are held or cool, sorted.
    ///
    /// # Errors
    /// [`LockError::Database`].
    pub async fn held(&self) -> Result<Vec<LockName>, LockError> {
        self.locks.store.held().await
    }

    /// Deletes the rows of locks that were not held for `unused`; how many there were. Fences of a name that comes again are above
    /// the database's time in µs, so they rise unless its clock was set back by more than `unused`.
    ///
    /// # Errors
    /// [`LockError::Database`].
    pub async fn prune(&self, unused: Duration) -> Result<u64, LockError> {
        let unused_ms = Value::count(u64::try_from(unused.as_millis()).unwrap_or(u64::MAX >> 2).min(1 << 52));
        let pruned = async { DB::execute(&mut *self.pool.acquire().await?, PRUNE.text::<DB>(), &[unused_ms]).await };
        pruned.await.map_err(|error| LockError::from(SqlError::of::<DB>(error)))
    }
}

impl<DB: Database> ExclusiveLocks for RowLocks<DB> {
    fn acquire<'a>(
        &'a self,
        name: &'a str,
        terms: &'a LockTerms,
    ) -> Boxed<'a, Result<Box<dyn ExclusiveGuard>, LockError>> {
        fenced(self.lock(name), terms)
    }
}

// By hand: the database need not be `Clone` or `Debug`.
impl<DB: Database> Clone for RowLocks<DB> {
    fn clone(&self) -> Self {
        Self { locks: self.locks.clone(), pool: self.pool.clone() }
    }
}

impl<DB: Database> fmt::Debug for RowLocks<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowLocks").finish_non_exhaustive()
    }
}
