//! [`Guard`]: a held lock.

use super::lease::Lease;
use evenkeel_link::support::{Backoff, guard};
use evenkeel_protocol::lock::error::{LockError, Lost};
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::steps::{Fence, Released};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// The maximum number of attempts of a release without a reply.
const TRIES: u32 = 3;
const RETRY: Backoff = Backoff { delay_min: Duration::from_millis(200), delay_max: Duration::from_millis(200) };

/// A held lock. It is renewed in the background, and released when this is dropped.
///
/// Dropping never blocks: in the embedded store the lock is free at once; on Redis the release runs in the background, so that a
/// [`try_acquire`](crate::lock::LockBuilder::try_acquire) right after the drop may still find the lock taken. Where that matters, await
/// [`release`](Self::release).
///
/// Guaranteed: the guard detects the end of its lease no later than at its next check of the clock ([`lost`](Self::lost),
/// [`run`](Self::run), [`is_lost`](Self::is_lost)).
/// Not guaranteed: that no other holder acts meanwhile. A paused process cannot check a clock, so the protected resource must check the
/// [`fence`](Self::fence).
#[must_use = "the lock is released as soon as the guard is dropped"]
pub struct Guard {
    lease: Arc<Lease>,
    /// Whether the release was sent and answered.
    released: bool,
}

/// The result of [`Guard::release`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseOutcome {
    /// The lock was held, and is free now.
    Released,
    /// The lock was no longer held. Another holder may have acted since; the fences distinguish them.
    AlreadyLost,
    /// The lock is free now, but it is unknown whether this call released it, because an earlier attempt was not answered.
    Unconfirmed,
}

impl Guard {
    pub(crate) fn new(lease: Arc<Lease>) -> Self {
        Self { lease, released: false }
    }

    /// The lease, shared with the renewal.
    #[cfg(feature = "sql")]
    pub(crate) fn lease(&self) -> &Lease {
        &self.lease
    }

    /// The name of the lock.
    #[must_use]
    pub fn name(&self) -> &LockName {
        &self.lease.held.name
    }

    /// The fencing token of this acquisition: higher than that of every earlier holder. A resource that rejects lower fences than it has
    /// seen is protected from earlier holders. It stays as it is once a database has stored it; a further database may give the guard a
    /// higher one, which its transactions there return.
    #[must_use]
    pub fn fence(&self) -> Fence {
        self.lease.fence()
    }

    /// The remaining time of the lease without another renewal; zero once the lock is lost.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.lease.remaining()
    }

    /// Checks the clock and returns whether the lock is lost. A lost lock stays lost.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.lease.lost_now().is_some()
    }

    /// Completes when the lock is lost: at the deadline of the last confirmed lease, or, after a pause of the process, at most 250 ms after
    /// it runs again; or when a renewal finds that the lock is gone.
    pub async fn lost(&self) -> Lost {
        self.lease.lost().await
    }

    /// Completes when less than a third of the lease is left, because renewals have failed or
    /// [`max_hold`](crate::lock::LockBuilder::max_hold) is near. The holder should finish its work.
    pub async fn expiring_soon(&self) {
        loop {
            let spare = self.lease.remaining().saturating_sub(self.lease.length / 3);
            if spare.is_zero() || self.lease.lost_now().is_some() {
                return;
            }
            self.lease.locks.clock.sleep(spare).await;
        }
    }

    /// Runs `future` while the lock is held. If the lock is lost, the future is dropped and not polled again.
    ///
    /// # Errors
    /// [`Lost`]: the future was dropped before it was ready.
    pub async fn run<F: Future>(&self, future: F) -> Result<F::Output, Lost> {
        run_until(self.lease.lost(), future).await
    }

    /// Releases the lock and returns its state at the release.
    ///
    /// Guaranteed: after this has returned, no renewal is sent, and unless it is an error, the next waiter has been notified. If the future
    /// is dropped before, the lock is released as if the guard had been dropped.
    ///
    /// # Errors
    /// [`LockError::Link`]: Redis did not answer; the lock ends with its lease, and the caller need not do anything.
    pub async fn release(mut self) -> Result<ReleaseOutcome, LockError> {
        let lease = Arc::clone(&self.lease);
        let was_lost = lease.lost_now().is_some();
        lease.latch.close();
        lease.end_renewals();
        // A renewal in progress completes first, so that the release is the last command.
        lease.renewals_over().await;
        let mut doubt = false;
        for attempt in 1.. {
            match lease.locks.store.release_in(lease.held.mode, &lease.held.name, lease.release_call()).await {
                Ok(found) => {
                    self.released = true;
                    lease.locks.metrics.released(found);
                    // The next task of this process continues only after the release.
                    drop(lease.take_turn());
                    return Ok(match found {
                        Released::Released { .. } => ReleaseOutcome::Released,
                        Released::Nothing if doubt && !was_lost => ReleaseOutcome::Unconfirmed,
                        Released::Nothing | Released::Lost => ReleaseOutcome::AlreadyLost,
                    });
                }
                Err(error) if error.is_retryable() && attempt < TRIES => {
                    doubt |= error.outcome_unknown();
                    lease.locks.clock.sleep(RETRY.delay(0)).await;
                }
                // Dropping `self` passes the release to the reaper, which retries until the lease has expired.
                Err(error) => return Err(error),
            }
        }
        Ok(ReleaseOutcome::Unconfirmed)
    }
}

/// Polls `future` until it or `lost` is ready.
pub(crate) async fn run_until<F: Future>(lost: impl Future<Output = Lost>, future: F) -> Result<F::Output, Lost> {
    tokio::select! {
        biased;
        // The clock is checked first, so that the future does not continue after a pause in which the lock was lost.
        lost = lost, if guard("lock_run_looks_first") => Err(lost),
        output = future => Ok(output),
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.released {
            self.lease.let_go();
        }
    }
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Guard");
        shown.field("name", self.name()).field("fence", &self.fence()).field("remaining", &self.remaining()).finish()
    }
}
