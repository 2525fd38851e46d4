//! [`AdvisoryLocks`]: the advisory locks of a database, each held by a connection of its own.

mod session;
mod shared;
mod steps;
mod waiter;

use crate::lock::acquire::builder::LockBuilder;
use crate::lock::acquire::terms::LockTerms;
use crate::lock::exclusive::{BoxFuture, ExclusiveGuard, ExclusiveLocks};
use crate::lock::hold::guard::{Guard, ReleaseOutcome};
use crate::lock::store::locks::Locks;
use crate::sql::Database;
use crate::sql::database::Pool;
use evenkeel_protocol::lock::error::{LockError, Lost};
use evenkeel_protocol::lock::steps::Fence;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::time::Duration;
use steps::AdvisorySteps;

/// A database with advisory locks: `sqlx::MySql` (`GET_LOCK`) and `sqlx::Postgres` (`pg_advisory_lock`). SQLite has none, so a program that
/// uses them with it does not compile.
pub trait AdvisoryDatabase: Database {}

#[cfg(feature = "mysql")]
impl AdvisoryDatabase for sqlx::MySql {}
#[cfg(feature = "postgres")]
impl AdvisoryDatabase for sqlx::Postgres {}

/// The advisory locks of a database, by name. They need no table and write nothing. Cheap to clone; created by [`Keel::advisory_locks`].
///
/// **Guarantee.** The server grants a lock to one connection at a time, and each holder has a connection of its own, outside the pool. The
/// server closes a connection that is idle for about the ttl, so a holder that died, was disconnected or is paused loses the lock after
/// that time; its guard counts as lost no later. When the connection ends, the lock is lost; the guard detects that at its next renewal,
/// every third of the ttl, which is a day at most. Waiters wait in the server's queue, for a second at a time.
///
/// **Not guaranteed.** An order among waiters of more than a second. A fence: there is none, so a paused holder can act after a later one
/// (use [`Keel::row_locks`] or [`Keel::lock`] where that matters). Anything across servers: replicas and the members of a cluster each have
/// locks of their own. Anything through a pooler that shares server connections among clients by transaction or statement (pgbouncer in
/// these modes): the lock stays with a connection that another client uses next. Use the address of the server itself in the URL.
///
/// One pool has at most as many of these connections as its `max_connections`, in addition to its own: one for each held lock, and one for
/// each name for which this process waits. Further tasks wait in the process until one is free, so a task that holds a lock while it
/// waits for another needs two. For a limit of its own, give the locks a pool of their own.
///
/// Names are hashed: to 64 characters for a MySQL server, and to a number of 64 bits for a PostgreSQL database. Two names with the same
/// hash would exclude each other, which is practically impossible.
///
/// [`Keel::advisory_locks`]: crate::Keel::advisory_locks
/// [`Keel::row_locks`]: crate::Keel::row_locks
/// [`Keel::lock`]: crate::Keel::lock
pub struct AdvisoryLocks<DB> {
    locks: Locks,
    database: PhantomData<fn() -> DB>,
}

impl<DB> AdvisoryLocks<DB> {
    pub(crate) fn new(locks: &Locks, pool: &Pool) -> Self {
        Self { locks: locks.other(pool, AdvisorySteps::new), database: PhantomData }
    }

    /// Waits for the lock called `name`, for at most the time in `terms`. Dropping the future at any point leaves nothing but a connection
    /// that is being closed.
    ///
    /// # Errors
    /// [`LockError::Busy`]; [`LockError::Database`] if the database did not answer; [`LockError::Invalid`] for a lock delay or
    /// metadata, which advisory locks do not have.
    pub async fn acquire(&self, name: &str, terms: &LockTerms) -> Result<AdvisoryGuard, LockError> {
        let lock = LockBuilder::new(&self.locks, name).terms(terms.clone());
        Ok(AdvisoryGuard(lock.acquire().await?))
    }

    /// Acquires the lock if it is free now; `None` if it is taken.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire), without `Busy`. Also [`LockError::Database`], which is retryable, if this process has no connection
    /// left for it.
    pub async fn try_acquire(&self, name: &str, terms: &LockTerms) -> Result<Option<AdvisoryGuard>, LockError> {
        let lock = LockBuilder::new(&self.locks, name).terms(terms.clone());
        Ok(lock.try_acquire().await?.map(AdvisoryGuard))
    }
}

impl<DB> ExclusiveLocks for AdvisoryLocks<DB> {
    fn acquire<'a>(
        &'a self,
        name: &'a str,
        terms: &'a LockTerms,
    ) -> BoxFuture<'a, Result<Box<dyn ExclusiveGuard>, LockError>> {
        Box::pin(async move { Ok(Box::new(Self::acquire(self, name, terms).await?) as Box<dyn ExclusiveGuard>) })
    }
}

/// A held advisory lock: like [`Guard`], without a fence.
#[must_use = "the lock is released as soon as the guard is dropped"]
#[derive(Debug)]
pub struct AdvisoryGuard(Guard);

impl AdvisoryGuard {
    /// The name of the lock.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name().as_str()
    }

    /// As [`Guard::remaining`].
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.0.remaining()
    }

    /// As [`Guard::is_lost`].
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.0.is_lost()
    }

    /// As [`Guard::lost`]; also when a renewal finds that its connection has ended.
    pub async fn lost(&self) -> Lost {
        self.0.lost().await
    }

    /// As [`Guard::run`].
    ///
    /// # Errors
    /// [`Lost`]: the future was dropped before it was ready.
    pub async fn run<F: Future>(&self, future: F) -> Result<F::Output, Lost> {
        self.0.run(future).await
    }

    /// As [`Guard::release`]; [`ReleaseOutcome::AlreadyLost`] if the connection had ended.
    ///
    /// # Errors
    /// As [`Guard::release`].
    pub async fn release(self) -> Result<ReleaseOutcome, LockError> {
        self.0.release().await
    }
}

impl ExclusiveGuard for AdvisoryGuard {
    fn name(&self) -> &str {
        Self::name(self)
    }

    fn fence(&self) -> Option<Fence> {
        None
    }

    fn as_fenced(&self) -> Option<&Guard> {
        None
    }

    fn remaining(&self) -> Duration {
        Self::remaining(self)
    }

    fn is_lost(&self) -> bool {
        Self::is_lost(self)
    }

    fn lost(&self) -> BoxFuture<'_, Lost> {
        Box::pin(Self::lost(self))
    }

    fn release(self: Box<Self>) -> BoxFuture<'static, Result<ReleaseOutcome, LockError>> {
        Box::pin((*self).release())
    }
}

// Not derived, because the database need not be `Clone` or `Debug`.
impl<DB> Clone for AdvisoryLocks<DB> {
    fn clone(&self) -> Self {
        Self { locks: self.locks.clone(), database: PhantomData }
    }
}

impl<DB> fmt::Debug for AdvisoryLocks<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdvisoryLocks").finish_non_exhaustive()
    }
}
