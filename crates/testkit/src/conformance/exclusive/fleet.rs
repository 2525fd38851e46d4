//! What a backend of exclusive locks shows to the suite.

use anyhow::Result;
use evenkeel::clock::Clock;
use evenkeel::lock::{ExclusiveGuard, ExclusiveLocks, LockTerms, Wait};
use evenkeel::testing::TestClock;
use std::future::Future;
use std::time::Duration;

/// A lease that stories wait out: as short as every server's own limits allow, for they count seconds.
pub(super) const SHORT: Duration = Duration::from_secs(1);
/// A lease that no story waits out.
pub const LONG: Duration = Duration::from_secs(60);
/// Longer than any story takes.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Processes that contend for the same locks.
pub trait Fleet: Send + Sync {
    /// The clock of the paused processes.
    fn clock(&self) -> &TestClock;

    /// One more process, by this clock.
    fn process(&self, clock: Clock) -> impl Future<Output = Result<Box<dyn ExclusiveLocks>>> + Send;

    /// One more process whose clock is frozen, except for [`pass`](Self::pass): as if it were paused.
    fn paused(&self) -> impl Future<Output = Result<Box<dyn ExclusiveLocks>>> + Send {
        self.process(self.clock().clock())
    }

    /// One more process that runs.
    fn running(&self) -> impl Future<Output = Result<Box<dyn ExclusiveLocks>>> + Send {
        self.process(Clock::system())
    }

    /// Lets time pass for the paused processes.
    fn pass(&self, span: Duration) {
        self.clock().advance(span);
    }

    /// The short leases acquired before expire about now, for the store: where the store's time is not the test's, this does
    /// nothing, and a waiter for the lock sees the expiry.
    fn expire_leases(&self) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }

    /// Whether there are fences.
    fn has_fences(&self) -> bool {
        true
    }

    /// Whether a lock ends with the connection that took it.
    fn is_held_by_connection(&self) -> bool {
        false
    }

    /// Kills every connection to the store; `false` if there is none that may be killed.
    fn kill_connections(&self) -> impl Future<Output = Result<bool>> + Send {
        async { Ok(false) }
    }
}

/// Terms with a lease of this length, that do not wait.
pub(super) fn terms(ttl: Duration) -> LockTerms {
    LockTerms::default().ttl(ttl).wait(Wait::No)
}

/// Waits for the lock; it must come.
pub(super) async fn take(locks: &dyn ExclusiveLocks, name: &str, ttl: Duration) -> Result<Box<dyn ExclusiveGuard>> {
    Ok(locks.acquire(name, &terms(ttl).wait(TIMEOUT)).await?)
}

/// Whether the lock can be acquired now; it is released.
pub(super) async fn is_free(locks: &dyn ExclusiveLocks, name: &str) -> Result<bool> {
    match locks.try_acquire(name, &terms(LONG)).await? {
        Some(guard) => {
            guard.release().await?;
            Ok(true)
        }
        None => Ok(false),
    }
}

/// Waits until `condition` holds.
pub async fn until(mut condition: impl AsyncFnMut() -> Result<bool>) -> Result<()> {
    while !condition().await? {
        tokio::task::yield_now().await;
    }
    Ok(())
}
