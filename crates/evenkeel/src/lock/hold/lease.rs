//! The state of one held lock, shared by its guard, its renewal and the reaper.

use super::latch::Latch;
use crate::lock::acquire::gate::Turn;
use crate::lock::acquire::mode::Mode;
#[cfg(feature = "sql")]
use crate::lock::fence::Anchors;
use crate::lock::store::locks::Locks;
use evenkeel_link::Token;
use evenkeel_link::clock::Moment;
use evenkeel_link::support::guard;
use evenkeel_protocol::lock::error::{LossReason, Lost};
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::steps::{Fence, Release};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// The longest interval between checks of the clock while waiting for a loss: a timer stops while the machine sleeps, the clock does not.
const LOOK: Duration = Duration::from_millis(250);

/// One held lock.
pub(crate) struct Lease {
    pub(crate) locks: Locks,
    pub(crate) held: Held,
    /// The owner recorded with the fence.
    #[cfg(feature = "sql")]
    pub(crate) signer: Token,
    pub(crate) length: Duration,
    pub(crate) latch: Latch,
    fence: AtomicU64,
    /// The databases that have stored the fence, in which the holder may have read protected data since.
    #[cfg(feature = "sql")]
    pub(crate) anchors: Anchors,
    reason: OnceLock<LossReason>,
    /// Its turn in the local queue, until the lock is released or lost.
    turn: Mutex<Option<Turn>>,
    /// Notified when the lease is lost or a renewal has ended.
    changed: Notify,
    renewal: OnceLock<AbortHandle>,
    since: Moment,
}

/// A held lock and its owner.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) name: LockName,
    pub(crate) mode: Mode,
    pub(crate) owner: Token,
}

/// A granted acquisition.
pub(crate) struct Grant {
    pub(crate) fence: Fence,
    /// The owner recorded with the fence: this owner, or the first of the readers that share it.
    #[cfg_attr(not(feature = "sql"), expect(dead_code, reason = "only a database stores fences"))]
    pub(crate) signer: Token,
    /// The end of the lease, counted from the time at which the granted attempt was sent.
    pub(crate) deadline: Moment,
    /// The length of the lease without renewals.
    pub(crate) length: Duration,
}

impl Lease {
    pub(crate) fn new(locks: Locks, held: Held, grant: &Grant, turn: Option<Turn>) -> Arc<Self> {
        locks.metrics.held.increment(1);
        let lease = Arc::new(Self {
            since: locks.clock.now(),
            locks,
            held,
            #[cfg(feature = "sql")]
            signer: grant.signer,
            length: grant.length,
            latch: Latch::new(nanoseconds(grant.deadline)),
            fence: AtomicU64::new(grant.fence.0),
            #[cfg(feature = "sql")]
            anchors: Anchors::default(),
            reason: OnceLock::new(),
            turn: Mutex::new(turn),
            changed: Notify::new(),
            renewal: OnceLock::new(),
        });
        lease.locks.leases.enter(&lease);
        lease
    }

    /// Records the task that renews the lease; it is aborted with the lease.
    pub(crate) fn renewed_by(&self, renewal: AbortHandle) {
        if let Err(renewal) = self.renewal.set(renewal) {
            renewal.abort();
        }
    }

    pub(crate) fn end_renewals(&self) {
        if let Some(renewal) = self.renewal.get() {
            renewal.abort();
        }
    }

    /// When it was acquired.
    pub(crate) fn since(&self) -> Moment {
        self.since
    }

    pub(crate) fn fence(&self) -> Fence {
        Fence(self.fence.load(SeqCst))
    }

    #[cfg(feature = "sql")]
    pub(crate) fn raise_fence(&self, fence: Fence) {
        self.fence.fetch_max(fence.0, SeqCst);
    }

    /// The remaining time of the lease; zero once it is lost.
    pub(crate) fn remaining(&self) -> Duration {
        if self.latch.is_lost() {
            return Duration::ZERO;
        }
        let deadline = Duration::from_nanos(self.latch.deadline_ns());
        deadline.saturating_sub(self.locks.clock.now().on_clock())
    }

    /// Moves the deadline forward to `left` after `sent`.
    pub(crate) fn extend(&self, sent: Moment, left: Duration) {
        self.latch.extend(nanoseconds(sent + left));
    }

    /// Checks the clock; returns how the lease was lost, if it was.
    pub(crate) fn lost_now(&self) -> Option<Lost> {
        if self.latch.is_held() && self.remaining().is_zero() && guard("lock_local_deadline") {
            self.lose(LossReason::Expired);
        }
        self.latch.is_lost().then(|| Lost { reason: self.reason.get().copied().unwrap_or(LossReason::Expired) })
    }

    /// Marks the lease as lost.
    pub(crate) fn lose(&self, reason: LossReason) {
        // Set before the latch, so that every reader of a lost latch finds a reason; the first reason stays.
        if self.latch.is_held() {
            let _ = self.reason.set(reason);
        }
        if self.latch.lose() {
            self.locks.metrics.lost(reason);
            tracing::warn!(name = %self.held.name, %reason, "a lock was lost");
            // The next task of this process may try, because the latch already shows the loss to this holder.
            drop(self.take_turn());
            self.changed.notify_waiters();
        }
    }

    /// Completes when the lease is lost; never if it is released before.
    pub(crate) async fn lost(&self) -> Lost {
        loop {
            let changed = self.changed.notified();
            let mut changed = std::pin::pin!(changed);
            changed.as_mut().enable();
            if let Some(lost) = self.lost_now() {
                return lost;
            }
            tokio::select! {
                () = changed => {}
                () = self.locks.clock.sleep(self.remaining().min(LOOK)) => {}
            }
        }
    }

    /// Completes when no renewal is in progress.
    pub(crate) async fn renewals_over(&self) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if !self.latch.is_renewing() {
                return;
            }
            changed.await;
        }
    }

    /// Records that the renewal in progress has ended, with any result.
    pub(crate) fn renewal_over(self: &Arc<Self>) {
        let must_release = self.latch.end_renewal();
        self.changed.notify_waiters();
        if must_release {
            self.locks.reaper.hand_over(&self.locks, self.pending_release());
        }
    }

    /// Releases in the background after the guard was dropped: here, or when the renewal in progress ends.
    pub(crate) fn let_go(self: &Arc<Self>) {
        let must_release = self.latch.close_at_once();
        self.end_renewals();
        if must_release {
            self.locks.reaper.hand_over(&self.locks, self.pending_release());
        }
    }

    /// The pending release, which takes the turn along.
    pub(crate) fn pending_release(&self) -> PendingRelease {
        let until = Moment::from_clock(Duration::from_nanos(self.latch.deadline_ns()));
        PendingRelease { held: self.held.clone(), until, turn: self.take_turn() }
    }

    /// The call that releases the lock.
    pub(crate) fn release_call(&self) -> Release {
        let turn = self.turn.lock();
        let waits = turn.as_ref().is_some_and(|turn| turn.gate().has_queue());
        Release { owner: self.held.owner, process: self.locks.process, waits }
    }

    pub(crate) fn take_turn(&self) -> Option<Turn> {
        self.turn.lock().take()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.locks.leases.remove(self);
        self.locks.metrics.held.decrement(1);
        self.locks.metrics.held_seconds.record(self.locks.clock.now().since(self.since).as_secs_f64());
    }
}

/// A release that is still to be sent.
pub(crate) struct PendingRelease {
    pub(crate) held: Held,
    /// The approximate end of the lease.
    pub(crate) until: Moment,
    /// Dropping it lets the next task of the local queue continue.
    pub(crate) turn: Option<Turn>,
}

fn nanoseconds(moment: Moment) -> u64 {
    u64::try_from(moment.on_clock().as_nanos()).unwrap_or(u64::MAX)
}
