//! [`ExclusiveLocks`]: one trait over every way to lock exclusively, for programs that choose one at run time and for suites that run
//! on all of them.

use crate::keel::Keel;
use crate::lock::acquire::builder::LockBuilder;
use crate::lock::acquire::terms::LockTerms;
use crate::lock::hold::guard::{Guard, Release, run_until};
use evenkeel_protocol::lock::error::{LockError, Lost};
use evenkeel_protocol::lock::steps::Fence;
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// What an asynchronous method of a trait object answers.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Locks of which one at a time has a name: on Redis or in this process ([`Keel`]), on several Redis servers, in rows of a database, or
/// of a database's own.
///
/// **Guaranteed** by all of them: while nothing goes wrong, one holder at a time; a holder learns that it lost its lock
/// ([`ExclusiveGuard::lost`]); who drops an acquisition or a guard leaves nothing beyond a lease.
/// **Not guaranteed** by any: that a process that stands still does nothing after its lease. Where that matters, let the database
/// check the fence ([`ExclusiveGuard::as_fenced`]); docs/choosing-a-lock.md compares them.
pub trait ExclusiveLocks: Send + Sync {
    /// Waits for the lock called `name` as long as `terms` say. Dropping the future at any point leaves nothing beyond a lease.
    ///
    /// # Errors
    /// [`LockError::Busy`] if another holder has had it for as long; [`LockError::Invalid`] for terms that this kind of lock cannot
    /// keep; otherwise what keeps it did not answer.
    fn acquire<'a>(
        &'a self,
        name: &'a str,
        terms: &'a LockTerms,
    ) -> Boxed<'a, Result<Box<dyn ExclusiveGuard>, LockError>>;

    /// The lock if it is free now; `None` if not.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire), without `Busy`.
    fn try_acquire<'a>(
        &'a self,
        name: &'a str,
        terms: &'a LockTerms,
    ) -> Boxed<'a, Result<Option<Box<dyn ExclusiveGuard>>, LockError>> {
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

/// An exclusive lock that is held while this lives, whatever keeps it. Dropping it releases it in the background (locks in memory
/// at once): where the next `try_acquire` must find the lock free, await [`release`](Self::release). `run` of the trait object runs a future under it.
#[must_use = "the lock is given back as soon as the guard is dropped"]
pub trait ExclusiveGuard: Debug + Send + Sync {
    /// What is locked.
    fn name(&self) -> &str;

    /// The fence of this acquisition; `None` where the kind of lock has none.
    fn fence(&self) -> Option<Fence>;

    /// The guard, if its fence can be checked by a database (`Guard::begin`, with the feature `sql`); `None` where the kind of lock
    /// has no fence.
    fn as_fenced(&self) -> Option<&Guard>;

    /// What is left of the lease without another renewal; zero once it is lost.
    fn remaining(&self) -> Duration;

    /// Looks at the clock: whether the lock is lost. Once it is, it stays so.
    fn is_lost(&self) -> bool;

    /// Ready when the lock is lost, once and for ever.
    fn lost(&self) -> Boxed<'_, Lost>;

    /// Gives the lock back and says what is known about it.
    ///
    /// # Errors
    /// What keeps the lock did not answer; it ends with its lease, nothing is to be done.
    fn release(self: Box<Self>) -> Boxed<'static, Result<Release, LockError>>;
}

impl dyn ExclusiveGuard {
    /// Runs `future` while the lock is held. If it is lost, the future is dropped, and never polled again.
    ///
    /// # Errors
    /// [`Lost`]: the future was dropped in the middle of whatever it did.
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

    fn lost(&self) -> Boxed<'_, Lost> {
        Box::pin(Self::lost(self))
    }

    fn release(self: Box<Self>) -> Boxed<'static, Result<Release, LockError>> {
        Box::pin((*self).release())
    }
}

/// The locks of one Redis, or of this process.
impl ExclusiveLocks for Keel {
    fn acquire<'a>(
        &'a self,
        name: &'a str,
        terms: &'a LockTerms,
    ) -> Boxed<'a, Result<Box<dyn ExclusiveGuard>, LockError>> {
        fenced(self.lock(name), terms)
    }
}

/// Acquires a lock whose guard has a fence.
pub(super) fn fenced<'a>(
    lock: LockBuilder,
    terms: &LockTerms,
) -> Boxed<'a, Result<Box<dyn ExclusiveGuard>, LockError>> {
    let lock = lock.terms(terms.clone());
    Box::pin(async move { Ok(Box::new(lock.acquire().await?) as Box<dyn ExclusiveGuard>) })
}
