//! The locks of a [`Keel`].

use super::Keel;
#[cfg(feature = "sql")]
use crate::lock::{AdvisoryDatabase, AdvisoryLocks, RowLocks};
use crate::lock::{
    BoxFuture, ExclusiveGuard, ExclusiveLocks, Guards, LockBuilder, LockError, LockName, LockTerms, RwLock, Semaphore,
    StripedLock,
};
#[cfg(feature = "sql")]
use crate::sql::Database;
#[cfg(feature = "sql")]
use sqlx::Pool;

/// Locks; see the module [`lock`](crate::lock).
impl Keel {
    /// Begins the acquisition of the lock called `name`: 1 to 512 bytes that name the protected resource, such as `stock/42`. While another
    /// holder has it, [`acquire`](LockBuilder::acquire) waits for up to 30 seconds; in a request handler set
    /// [`wait`](LockBuilder::wait) to the time that the request allows, or use [`try_acquire`](LockBuilder::try_acquire).
    pub fn lock(&self, name: &str) -> LockBuilder {
        LockBuilder::new(&self.0.locks, name)
    }

    /// Waits for all these locks, each with the settings of `with` (`|lock| lock.ttl(..)`). A duplicate name counts once.
    ///
    /// Guaranteed: all of the locks or none are held: if one fails or the future is dropped, the acquired ones are released.
    /// [`wait`](LockBuilder::wait) limits the whole call.
    ///
    /// # Errors
    /// As [`LockBuilder::acquire`].
    pub async fn lock_many(
        &self,
        names: &[&str],
        with: impl Fn(LockBuilder) -> LockBuilder,
    ) -> Result<Guards, LockError> {
        Guards::acquire(&self.0.locks, names, with).await
    }

    /// The names of all locks that are held or in their lock delay, sorted. Scans the whole keyspace of Redis, in small steps: for
    /// operators.
    ///
    /// # Errors
    /// [`LockError::Link`].
    pub async fn locks_held(&self) -> Result<Vec<LockName>, LockError> {
        self.0.locks.store.held().await
    }

    /// The read/write lock called `name`: 1 to 512 bytes that name the protected resource. It is independent of the lock of the same name
    /// of [`lock`](Self::lock), except for the row of fences in SQL: use a name for only one of the two.
    ///
    /// ```
    /// # use evenkeel::Keel;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let keel = Keel::memory();
    /// let prices = keel.rw_lock("prices");
    /// let (one, two) = (prices.read().acquire().await?, prices.read().acquire().await?);
    /// assert_eq!(one.fence(), two.fence());
    /// assert!(prices.write().try_acquire().await?.is_none());
    /// drop((one, two));
    /// prices.write().acquire().await?.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn rw_lock(&self, name: &str) -> RwLock {
        RwLock::new(&self.0.locks, name)
    }

    /// The names of the read/write locks that were in use in the last two days, sorted. Scans the whole keyspace of Redis, in small steps:
    /// for operators.
    ///
    /// # Errors
    /// [`LockError::Link`].
    pub async fn rw_locks_known(&self) -> Result<Vec<LockName>, LockError> {
        RwLock::known(&self.0.locks).await
    }

    /// The semaphore called `name` with `permits` permits: 1 to 500.
    ///
    /// ```
    /// # use evenkeel::Keel;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let keel = Keel::memory();
    /// let mailer = keel.semaphore("mailer", 3);
    /// let two = mailer.take(2).acquire().await?;
    /// let one = mailer.acquire().await?;
    /// assert!(mailer.take(1).try_acquire().await?.is_none());
    /// drop(two);
    /// assert!(mailer.take(2).try_acquire().await?.is_some());
    /// # drop(one);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn semaphore(&self, name: &str, permits: u32) -> Semaphore {
        Semaphore::new(&self.0.locks, name, permits)
    }

    /// The names of the semaphores that were in use in the last two days, sorted. Scans the whole keyspace of Redis, in small steps: for
    /// operators.
    ///
    /// # Errors
    /// [`LockError::Link`].
    pub async fn semaphores_known(&self) -> Result<Vec<LockName>, LockError> {
        Semaphore::known(&self.0.locks).await
    }

    /// A striped lock with `stripes` stripes: 1 to 4096, not necessarily a power of two. Nothing is sent before the first
    /// acquisition.
    ///
    /// # Errors
    /// [`LockError::Invalid`] for a number out of range, or an empty name.
    pub fn striped_lock(&self, name: &str, stripes: u32) -> Result<StripedLock, LockError> {
        StripedLock::new(&self.0.locks, name, stripes)
    }

    /// Locks in rows of the database of `pool`. The locks of one pool share a local queue in this process, and
    /// [`shutdown`](Self::shutdown) also waits for their releases.
    #[cfg(feature = "sql")]
    pub fn row_locks<DB: Database>(&self, pool: &Pool<DB>) -> RowLocks<DB> {
        RowLocks::new(&self.0.locks, DB::erased(pool))
    }

    /// The advisory locks of the database of `pool`. Each held lock, and each name with waiters, has a connection of its own, outside of the
    /// pool. The pool's connect options are used, and its `max_connections` is the limit for them.
    ///
    /// ```compile_fail
    /// # async fn run(keel: evenkeel::Keel, pool: sqlx::SqlitePool) {
    /// keel.advisory_locks(&pool); // SQLite has none
    /// # }
    /// ```
    #[cfg(feature = "sql")]
    pub fn advisory_locks<DB: AdvisoryDatabase>(&self, pool: &Pool<DB>) -> AdvisoryLocks<DB> {
        AdvisoryLocks::new(&self.0.locks, &DB::erased(pool))
    }
}

/// The locks of one Redis, or of this process.
impl ExclusiveLocks for Keel {
    fn acquire<'a>(
        &'a self,
        name: &'a str,
        terms: &'a LockTerms,
    ) -> BoxFuture<'a, Result<Box<dyn ExclusiveGuard>, LockError>> {
        self.lock(name).acquire_boxed(terms)
    }
}
