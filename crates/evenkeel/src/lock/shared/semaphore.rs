//! [`Semaphore`]: a distributed semaphore.

use crate::lock::acquire::builder::LockBuilder;
use crate::lock::acquire::mode::Mode;
use crate::lock::acquire::setters::term_setters;
use crate::lock::hold::guard::{Guard, ReleaseOutcome};
use crate::lock::store::locks::Locks;
use evenkeel_link::Token;
use evenkeel_protocol::lock::error::{LockError, Lost};
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::pool::steps::{BreakHolds, Inspect, Kind, PoolHolder, PoolState, Resize};
use std::fmt;
use std::future::Future;
use std::time::Duration;

/// A number of permits shared by the processes of a fleet, each held under a lease.
///
/// Waiters queue in the order in which they asked, over all processes; a waiter for many permits blocks later ones for ten seconds, then
/// lets them pass for ten seconds, and so on.
///
/// **There is no fence.** Concurrent holders have no order, so a resource cannot reject an outdated one. A process that is paused beyond
/// its lease continues next to the process that got its permit, so for a moment there are more holders than permits. Use a semaphore to
/// limit load, not to protect data.
///
/// The number of permits is stored at the first use; a program with another number is rejected ([`LockError::Differs`]) until all programs
/// agree, or [`resize`](Self::resize) changes it.
#[derive(Clone)]
pub struct Semaphore {
    locks: Locks,
    name: String,
    permits: u32,
}

/// The settings of an acquisition of permits. Every setting has a default.
#[must_use = "a builder does nothing until `acquire`"]
#[derive(Clone)]
pub struct PermitsBuilder {
    lock: LockBuilder,
    count: u32,
}

/// Held permits of a semaphore. They are renewed in the background, and released when this is dropped: in the embedded store at once, on
/// Redis in the background, so that a [`try_acquire`](PermitsBuilder::try_acquire) right after the drop may find none. Where that matters,
/// await [`release`](Self::release).
#[must_use = "the permits are released as soon as this is dropped"]
pub struct Permits {
    guard: Guard,
    count: u32,
}

impl Semaphore {
    pub(crate) fn new(locks: &Locks, name: &str, permits: u32) -> Self {
        Self { locks: locks.clone(), name: name.to_owned(), permits }
    }

    /// The names of those in use.
    pub(crate) async fn known(locks: &Locks) -> Result<Vec<LockName>, LockError> {
        locks.store.pools()?.names(Kind::Semaphore).await
    }

    /// Begins the acquisition of `permits` permits together: all of them or none.
    pub fn take(&self, permits: u32) -> PermitsBuilder {
        let mode = Mode::Permits { count: permits, in_all: self.permits };
        PermitsBuilder { lock: LockBuilder::new(&self.locks, &self.name).in_mode(mode), count: permits }
    }

    /// Waits for one permit, with the defaults of [`take`](Self::take).
    ///
    /// # Errors
    /// As [`PermitsBuilder::acquire`].
    pub async fn acquire(&self) -> Result<Permits, LockError> {
        self.take(1).acquire().await
    }

    /// Stores this handle's number of permits as that of the semaphore: programs with the old number are rejected from then on. Holders
    /// keep their permits, so after a decrease none is granted until enough were released.
    ///
    /// # Errors
    /// [`LockError::Link`], [`LockError::Invalid`].
    pub async fn resize(&self) -> Result<(), LockError> {
        self.locks.store.in_pool(Kind::Semaphore, &self.name()?, &Resize(self.permits)).await
    }

    /// The holders of permits and the number of waiters; `None` if the semaphore was not used for two days.
    ///
    /// # Errors
    /// [`LockError::Link`], [`LockError::Invalid`].
    pub async fn inspect(&self) -> Result<Option<PoolState>, LockError> {
        self.locks.store.in_pool(Kind::Semaphore, &self.name()?, &Inspect).await
    }

    /// Takes permits away from `owner` (see [`inspect`](Self::inspect)), or from all holders. Returns the former holders, which detect this at
    /// their next renewals and continue until then.
    ///
    /// # Errors
    /// As [`inspect`](Self::inspect); after an unknown outcome, inspect the semaphore again.
    pub async fn break_holds(&self, owner: Option<Token>) -> Result<Vec<PoolHolder>, LockError> {
        self.locks.store.in_pool(Kind::Semaphore, &self.name()?, &BreakHolds(owner)).await
    }

    fn name(&self) -> Result<LockName, LockError> {
        LockName::new(&self.name)
    }
}

impl PermitsBuilder {
    term_setters!(lock.terms, "a permit", " A lock delay is rejected, because only exclusive locks support it.");

    /// Waits for the permits.
    ///
    /// Guaranteed: dropping this future at any point leaves nothing beyond a lease, and no place in the queue for longer than two
    /// seconds. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`LockError::Busy`] after [`wait`](Self::wait); [`LockError::Differs`] if the semaphore has another number of permits;
    /// [`LockError::Link`] if Redis did not answer three times in a row; [`LockError::Invalid`] if the name or a setting is invalid.
    pub async fn acquire(self) -> Result<Permits, LockError> {
        let guard = self.lock.acquire().await?;
        Ok(Permits { guard, count: self.count })
    }

    /// Acquires the permits if they are available now; `None` if not.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire), without `Busy`.
    pub async fn try_acquire(self) -> Result<Option<Permits>, LockError> {
        let guard = self.lock.try_acquire().await?;
        Ok(guard.map(|guard| Permits { guard, count: self.count }))
    }
}

impl Permits {
    /// The semaphore's name.
    #[must_use]
    pub fn name(&self) -> &LockName {
        self.guard.name()
    }

    /// The number of permits.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The remaining time of the lease without another renewal; zero once the permits are lost.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.guard.remaining()
    }

    /// Checks the clock and returns whether the permits are lost. Lost permits stay lost.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.guard.is_lost()
    }

    /// As [`Guard::lost`].
    pub async fn lost(&self) -> Lost {
        self.guard.lost().await
    }

    /// As [`Guard::expiring_soon`].
    pub async fn expiring_soon(&self) {
        self.guard.expiring_soon().await;
    }

    /// Runs `future` while the permits are held. If they are lost, the future is dropped and not polled again.
    ///
    /// # Errors
    /// [`Lost`]: the future was dropped before it was ready.
    pub async fn run<F: Future>(&self, future: F) -> Result<F::Output, Lost> {
        self.guard.run(future).await
    }

    /// Releases the permits and returns their state, as [`Guard::release`].
    ///
    /// # Errors
    /// [`LockError::Link`]: Redis did not answer; the permits end with their lease, and the caller need not do anything.
    pub async fn release(self) -> Result<ReleaseOutcome, LockError> {
        self.guard.release().await
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore").field("name", &self.name).field("permits", &self.permits).finish_non_exhaustive()
    }
}

impl fmt::Debug for Permits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Permits");
        shown.field("name", self.name()).field("count", &self.count).field("remaining", &self.remaining()).finish()
    }
}
