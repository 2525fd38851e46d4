//! [`ExclusiveLocks`]: one trait of all kinds of exclusive locks, for programs that choose one at run time and for test suites that run on
//! all of them.

use crate::lock::acquire::terms::LockTerms;
use crate::lock::hold::guard::{Guard, ReleaseOutcome, run_until};
use evenkeel_protocol::lock::error::{LockError, Lost};
use evenkeel_protocol::lock::steps::Fence;
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// The future that an asynchronous method of a trait object returns.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Locks with one holder per name at a time: on Redis or in this process ([`Keel`]), on several Redis servers, in rows of a database, or a
/// database's advisory locks.
///
/// **Guaranteed** by all of them: without failures there is one holder at a time; a holder is notified when its lock is lost
/// ([`ExclusiveGuard::lost`]); a dropped acquisition or guard leaves nothing beyond a lease.
/// **Not guaranteed** by any: that a paused process does not act after its lease has expired. Where that matters, let the database check
/// the fence ([`ExclusiveGuard::as_fenced`]); docs/choosing-a-lock.md compares the kinds.
///
/// [`Keel`]: crate::Keel
pub trait ExclusiveLocks: Send + Sync {
    /// Waits for the lock called `name`, for at most the time in `terms`. Dropping the future at any point leaves nothing beyond a lease.
    ///
    /// # Errors
    /// [`LockError::Busy`] if other holders had the lock for all of that time; [`LockError::Invalid`] for terms that this kind of lock does
    /// not support; otherwise the store of the lock did not answer.
    fn acquire<'a>(
        &'a self,
        name: &'a str,
        terms: &'a LockTerms,
    ) -> BoxFuture<'a, Result<Box<dyn ExclusiveGuard>, LockError>>;

    /// Acquires the lock if it is free now; `None` if it is taken.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire), without `Busy`.
    fn try_acquire<'a>(
        &'a self,
        name: &'a str,
        terms: &'a LockTerms,
    ) -> BoxFuture<'a, Result<Option<Box<dyn ExclusiveGuard>>, LockError>> {
        Box::pin(async move {
            let terms = terms.clone().wait(super::Wait::No);
            match self.acquire(name, &terms).await {
                Ok(guard) => Ok(Some(guard)),
                Err(LockError::Busy { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        })
    }
}

/// An exclusive lock of any kind, held until this is dropped. Dropping it releases the lock in the background (locks in memory at once):
/// where the next `try_acquire` must find the lock free, await [`release`](Self::release). `run` of the trait object runs a future while
/// the lock is held.
#[must_use = "the lock is released as soon as the guard is dropped"]
pub trait ExclusiveGuard: Debug + Send + Sync {
    /// The name of the lock.
    fn name(&self) -> &str;

    /// The fence of this acquisition; `None` if this kind of lock has none.
    fn fence(&self) -> Option<Fence>;

    /// The guard, whose fence a database can check (`Guard::begin`, with the feature `sql`); `None` if this kind of lock has no fence.
    fn as_fenced(&self) -> Option<&Guard>;

    /// The remaining time of the lease without another renewal; zero once the lock is lost.
    fn remaining(&self) -> Duration;

    /// Checks the clock and returns whether the lock is lost. A lost lock stays lost.
    fn is_lost(&self) -> bool;

    /// Completes when the lock is lost.
    fn lost(&self) -> BoxFuture<'_, Lost>;

    /// Releases the lock and returns its state at the release.
    ///
    /// # Errors
    /// The store of the lock did not answer; the lock ends with its lease, and the caller need not do anything.
    fn release(self: Box<Self>) -> BoxFuture<'static, Result<ReleaseOutcome, LockError>>;
}

impl dyn ExclusiveGuard + '_ {
    /// Runs `future` while the lock is held. If the lock is lost, the future is dropped and not polled again.
    ///
    /// # Errors
    /// [`Lost`]: the future was dropped before it was ready.
    pub async fn run<F: Future>(&self, future: F) -> Result<F::Output, Lost> {
        run_until(self.lost(), future).await
    }
}

impl ExclusiveGuard for Guard {
    fn name(&self) -> &str {
        Self::name(self).as_str()
    }

    fn fence(&self) -> Option<Fence> {
        Some(Self::fence(self))
    }

    fn as_fenced(&self) -> Option<&Guard> {
        Some(self)
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
