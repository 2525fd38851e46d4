//! [`Guard`]: the lock is held while this lives.

use super::lease::Lease;
use evenkeel_link::support::{Backoff, guard};
use evenkeel_protocol::lock::error::{LockError, Lost};
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::steps::{Fence, Released};
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// Tries of a release without an answer.
const TRIES: u32 = 3;
const RETRY: Backoff = Backoff { delay_min: Duration::from_millis(200), delay_max: Duration::from_millis(200) };

/// A held lock. It is renewed in the background, and given back when this is dropped.
///
/// Dropping never blocks: a keel in memory has the lock free at once, while Redis is asked in the background, so that a
/// [`try_acquire`](crate::lock::LockBuilder::try_acquire) right after it may still find the lock taken. Where that matters, await
/// [`release`](Self::release).
///
/// Guaranteed: this guard learns that its lease is over no later than the next time it looks at the clock ([`lost`](Self::lost),
/// [`run`](Self::run), [`is_lost`](Self::is_lost)).
/// Not guaranteed: that no other holder acts meanwhile. A process that stands still cannot look at a clock, so what the lock protects
/// must check the [`fence`](Self::fence).
#[must_use = "the lock is given back as soon as the guard is dropped"]
pub struct Guard {
    lease: Arc<Lease>,
    /// Whether the release has been seen to.
    released: bool,
}

/// What [`Guard::release`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// It was held, and is free now.
    Released,
    /// It was not held any more. Another holder may have acted since; the fence keeps them apart.
    AlreadyLost,
    /// It is free now, but whether this call freed it is not known: an earlier try had no answer.
    Unconfirmed,
}

impl Guard {
    pub(crate) fn new(lease: Arc<Lease>) -> Self {
        Self { lease, released: false }
    }

    /// What it shares with its renewal.
    #[cfg(feature = "sql")]
    pub(crate) fn lease(&self) -> &Lease {
        &self.lease
    }

    /// What is locked.
    #[must_use]
    pub fn name(&self) -> &LockName {
        &self.lease.held.name
    }

    /// The fence of this acquisition: higher than that of every holder before. A resource that refuses lower fences than it has
    /// seen is safe from them.
    #[must_use]
    pub fn fence(&self) -> Fence {
        self.lease.fence()
    }

    /// What is left of the lease without another renewal; zero once it is lost.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.lease.remaining()
    }

    /// Looks at the clock: whether the lock is lost. Once it is, it stays so.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.lease.lost_now().is_some()
    }

    /// Ready when the lock is lost, once and for ever: at the deadline of the last confirmed lease, at the latest 250 ms after
    /// it when the process runs again; or when a renewal finds that another holder has it.
    pub async fn lost(&self) -> Lost {
        self.lease.lost().await
    }

    /// Ready when less than a third of the lease is left: renewals have failed, or [`max_hold`](crate::lock::LockBuilder::max_hold) is
    /// near. Time to come to an end.
    pub async fn expiring_soon(&self) {
        loop {
            let spare = self.lease.remaining().saturating_sub(self.lease.length / 3);
            if spare.is_zero() || self.lease.lost_now().is_some() {
                return;
            }
            self.lease.locks.clock.sleep(spare).await;
        }
    }

    /// Runs `future` while the lock is held. If it is lost, the future is dropped, and never polled again.
    ///
    /// # Errors
    /// [`Lost`]: the future was dropped in the middle of whatever it did.
    pub async fn run<F: Future>(&self, future: F) -> Result<F::Output, Lost> {
        run_until(self.lease.lost(), future).await
    }

    /// Gives the lock back and says what is known about it.
    ///
    /// Guaranteed: after this returned no renewal is sent any more, and if it is no error, the next in the queue has been notified. If
    /// the future is dropped before, the lock is given back as if the guard had been dropped.
    ///
    /// # Errors
    /// [`LockError::Link`]: Redis did not answer; the lock ends with its lease, nothing is to be done.
    pub async fn release(mut self) -> Result<Release, LockError> {
        let lease = Arc::clone(&self.lease);
        let was_lost = lease.lost_now().is_some();
        lease.latch.close();
        lease.end_renewals();
        // What was sent before goes first; then the release is the last word.
        lease.renewals_over().await;
        let mut doubt = false;
        for attempt in 1.. {
            match lease.locks.store.release_in(lease.held.mode, &lease.held.name, lease.release_call()).await {
                Ok(found) => {
                    self.released = true;
                    lease.locks.metrics.released(found);
                    // The next of this process goes on now, not before.
                    drop(lease.take_turn());
                    return Ok(match found {
                        Released::Released { .. } => Release::Released,
                        Released::Nothing if doubt && !was_lost => Release::Unconfirmed,
                        Released::Nothing | Released::Lost => Release::AlreadyLost,
                    });
                }
                Err(error) if error.is_retryable() && attempt < TRIES => {
                    doubt |= error.outcome_unknown();
                    lease.locks.clock.sleep(RETRY.delay(0)).await;
                }
                // Dropping `self` leaves it to the reaper, which tries until the lease has ended.
                Err(error) => return Err(error),
            }
        }
        Ok(Release::Unconfirmed)
    }
}

/// Polls `future` until it is ready, or `lost` is.
pub(crate) async fn run_until<F: Future>(lost: impl Future<Output = Lost>, future: F) -> Result<F::Output, Lost> {
    let mut lost = std::pin::pin!(lost);
    let mut future = std::pin::pin!(future);
    poll_fn(|context| {
        // First the clock: after a pause the future must not go on as if nothing had happened.
        if guard("lock_run_looks_first")
            && let Poll::Ready(lost) = lost.as_mut().poll(context)
        {
            return Poll::Ready(Err(lost));
        }
        future.as_mut().poll(context).map(Ok)
    })
    .await
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
