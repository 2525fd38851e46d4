//! One held lock, as its guard, its renewal and the reaper share it.

use super::latch::Latch;
use crate::lock::acquire::gate::Turn;
use crate::lock::acquire::mode::Mode;
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

/// Who waits for a loss looks at the clock at least so often: a timer stands still while the machine sleeps, the clock does not.
const LOOK: Duration = Duration::from_millis(250);

/// One held lock.
pub(crate) struct Lease {
    pub(crate) locks: Locks,
    pub(crate) held: Held,
    /// The owner recorded with its fence.
    #[cfg(feature = "sql")]
    pub(crate) signer: Token,
    pub(crate) length: Duration,
    pub(crate) latch: Latch,
    fence: AtomicU64,
    /// A database has stored the fence: work may rest on what was read since.
    #[cfg(feature = "sql")]
    is_stored: std::sync::atomic::AtomicBool,
    reason: OnceLock<LossReason>,
    /// Its place at the head of the local queue, until the lock is given back or lost.
    turn: Mutex<Option<Turn>>,
    /// The lease was lost, or a renewal is over.
    changed: Notify,
    renewal: OnceLock<AbortHandle>,
    since: Moment,
}

/// What is held, by whom.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) name: LockName,
    pub(crate) mode: Mode,
    pub(crate) owner: Token,
}

/// How an acquisition was answered.
pub(crate) struct Grant {
    pub(crate) fence: Fence,
    /// The owner recorded with the fence: this owner, or the first of the readers that share it.
    #[cfg_attr(not(feature = "sql"), expect(dead_code, reason = "only a database stores fences"))]
    pub(crate) signer: Token,
    /// When the lease ends, counted from when the answered attempt was sent.
    pub(crate) deadline: Moment,
    /// How long it is without renewals.
    pub(crate) length: Duration,
}

impl Lease {
    pub(crate) fn new(locks: Locks, held: Held, grant: &Grant, turn: Option<Turn>) -> Arc<Self> {
        locks.metrics.held.increment(1);
        Arc::new(Self {
            since: locks.clock.now(),
            locks,
            held,
            #[cfg(feature = "sql")]
            signer: grant.signer,
            length: grant.length,
            latch: Latch::new(nanoseconds(grant.deadline)),
            fence: AtomicU64::new(grant.fence.0),
            #[cfg(feature = "sql")]
            is_stored: std::sync::atomic::AtomicBool::new(false),
            reason: OnceLock::new(),
            turn: Mutex::new(turn),
            changed: Notify::new(),
            renewal: OnceLock::new(),
        })
    }

    /// The task that renews it; ended with the lease.
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

    pub(crate) fn fence(&self) -> Fence {
        Fence(self.fence.load(SeqCst))
    }

    #[cfg(feature = "sql")]
    pub(crate) fn raise_fence(&self, fence: Fence) {
        self.fence.fetch_max(fence.0, SeqCst);
    }

    /// A database has stored the fence.
    #[cfg(feature = "sql")]
    pub(crate) fn stored(&self) {
        self.is_stored.store(true, SeqCst);
    }

    #[cfg(feature = "sql")]
    pub(crate) fn is_stored(&self) -> bool {
        self.is_stored.load(SeqCst)
    }

    /// What is left of the lease; nothing once it is lost.
    pub(crate) fn remaining(&self) -> Duration {
        if self.latch.is_lost() {
            return Duration::ZERO;
        }
        let deadline = Duration::from_nanos(self.latch.deadline_ns());
        deadline.saturating_sub(self.locks.clock.now().on_clock())
    }

    /// Moves the deadline on to `length` after `sent`.
    pub(crate) fn extend(&self, sent: Moment, left: Duration) {
        self.latch.extend(nanoseconds(sent + left));
    }

    /// Looks at the clock: whether, and how, the lease was lost.
    pub(crate) fn lost_now(&self) -> Option<Lost> {
        if self.latch.is_held() && self.remaining().is_zero() && guard("lock_local_deadline") {
            self.lose(LossReason::Expired);
        }
        self.latch.is_lost().then(|| Lost { reason: self.reason.get().copied().unwrap_or(LossReason::Expired) })
    }

    /// Once and for ever.
    pub(crate) fn lose(&self, reason: LossReason) {
        // Before the latch, so that whoever sees it lost knows why; the first reason stays.
        if self.latch.is_held() {
            let _ = self.reason.set(reason);
        }
        if self.latch.lose() {
            self.locks.metrics.lost(reason);
            tracing::warn!(name = %self.held.name, %reason, "a lock was lost");
            // Others of this process may try: whoever still believes in this lease has been told.
            drop(self.take_turn());
            self.changed.notify_waiters();
        }
    }

    /// Ready when the lease is lost; never if it is given back before.
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

    /// Ready when no renewal is on its way.
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

    /// The renewal that was on its way is over, however it ended.
    pub(crate) fn renewal_over(self: &Arc<Self>) {
        let must_release = self.latch.end_renewal();
        self.changed.notify_waiters();
        if must_release {
            self.locks.reaper.hand_over(&self.locks, self.debt());
        }
    }

    /// Its guard was dropped: nothing is waited for, and somebody sees to the release.
    pub(crate) fn let_go(self: &Arc<Self>) {
        let must_release = self.latch.close_at_once();
        self.end_renewals();
        if must_release {
            self.locks.reaper.hand_over(&self.locks, self.debt());
        }
    }

    /// The release that is owed; with it goes the turn.
    pub(crate) fn debt(&self) -> Debt {
        let until = Moment::from_clock(Duration::from_nanos(self.latch.deadline_ns()));
        Debt { held: self.held.clone(), until, turn: self.take_turn() }
    }

    /// The call that gives it back.
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
        self.locks.metrics.held.decrement(1);
        self.locks.metrics.held_seconds.record(self.locks.clock.now().since(self.since).as_secs_f64());
    }
}

/// A release that must still be sent.
pub(crate) struct Debt {
    pub(crate) held: Held,
    /// About then the lease ends by itself.
    pub(crate) until: Moment,
    /// The next in the local queue goes on when this is dropped.
    pub(crate) turn: Option<Turn>,
}

fn nanoseconds(moment: Moment) -> u64 {
    u64::try_from(moment.on_clock().as_nanos()).unwrap_or(u64::MAX)
}
