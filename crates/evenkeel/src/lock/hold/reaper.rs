//! Sends the releases that nobody waits for: of guards that were dropped and of acquisitions that were cancelled.

use super::lease::{Debt, Held};
use crate::lock::store::LockStore;
use crate::lock::store::locks::Locks;
use evenkeel_link::Token;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{Background, Backoff, guard};
use evenkeel_protocol::lock::steps::Release;
use metrics::{Gauge, gauge};
use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

/// Releases on their way at once.
const AT_ONCE: usize = 64;
const RETRY: Backoff = Backoff { delay_min: Duration::from_millis(20), delay_max: Duration::from_secs(1) };
/// A lease whose renewal was not answered may end so much later than we know.
const GRACE: Duration = Duration::from_secs(1);

/// Takes debts over on their way to the store. Its task has a share of the queue only, and each debt its own handle of the store: so
/// an idle task keeps no connection, and what is still owed when the locks are gone is paid before the connection ends.
pub(crate) struct Reaper {
    queue: Arc<Queue>,
    running: Mutex<Option<Background>>,
}

/// Debts, and those who work them off.
struct Queue {
    owed: Mutex<VecDeque<Owed>>,
    added: Notify,
    /// Debts that are neither paid nor given up.
    pending: watch::Sender<usize>,
    /// The locks are gone: what is owed is sent once more, then the task ends.
    is_closed: AtomicBool,
    clock: Clock,
    metrics: Gauges,
}

struct Owed {
    debt: Debt,
    process: Token,
    store: LockStore,
}

struct Gauges {
    pending: Gauge,
    success: Gauge,
}

impl Reaper {
    pub(crate) fn new(clock: Clock) -> Self {
        let metrics = Gauges {
            pending: gauge!("evenkeel_lock_releases_pending"),
            success: gauge!("evenkeel_lock_reaper_last_success_seconds"),
        };
        let (owed, added, is_closed) = (Mutex::default(), Notify::new(), AtomicBool::new(false));
        let queue = Queue { owed, added, pending: watch::Sender::new(0), is_closed, clock, metrics };
        Self { queue: Arc::new(queue), running: Mutex::default() }
    }

    /// Sees to it that somebody works off the queue. Needs the runtime that the locks are acquired on.
    pub(crate) fn start(&self, store: &LockStore) {
        if store.is_embedded() {
            return;
        }
        let mut running = self.running.lock();
        if running.as_ref().is_none_or(Background::is_over) {
            let queue = Arc::clone(&self.queue);
            let run = move || Arc::clone(&queue).work();
            *running = Some(Background::spawn("lock reaper", self.queue.clock.clone(), run));
        }
    }

    /// Takes a debt over. Never blocks, needs no runtime: an embedded store is released at once, Redis by the reaper's task.
    pub(crate) fn hand_over(&self, locks: &Locks, debt: Debt) {
        let owed = Owed { debt, process: locks.process, store: locks.store.clone() };
        let Held { name, mode, .. } = &owed.debt.held;
        if locks.store.release_now_in(*mode, name, owed.call()) {
            return;
        }
        self.queue.pending.send_modify(|pending| *pending += 1);
        self.queue.owed().push_back(owed);
        self.queue.added.notify_one();
    }

    /// Ready when nothing is owed any more.
    pub(crate) async fn drained(&self) {
        self.queue.run_once().await;
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.queue.pending.subscribe().wait_for(|pending| *pending == 0).await;
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        self.queue.is_closed.store(true, SeqCst);
        let running = self.running.get_mut().take();
        if let Some(running) = running.filter(|_| guard("lock_reaper_sends_last")) {
            // It ends by itself, once what is owed was sent.
            running.leave();
            self.queue.added.notify_one();
        }
    }
}

impl Queue {
    /// Works off what comes until the locks are gone.
    async fn work(self: Arc<Self>) {
        loop {
            self.run_once().await;
            if self.is_closed.load(SeqCst) && self.owed().is_empty() && guard("lock_reaper_ends") {
                return;
            }
            self.added.notified().await;
        }
    }

    /// Works off what is in the queue.
    async fn run_once(self: &Arc<Self>) {
        let mut paying = JoinSet::new();
        while let Some(owed) = self.take() {
            let queue = Arc::clone(self);
            let paid = Paid(self.pending.clone());
            paying.spawn(async move {
                queue.pay(&owed).await;
                drop((owed, paid));
            });
            if paying.len() >= AT_ONCE {
                paying.join_next().await;
            }
        }
        while paying.join_next().await.is_some() {}
        self.metrics.pending.set(*self.pending.borrow() as f64);
        self.metrics.success.set(self.clock.unix_ms() as f64 / 1000.0);
    }

    /// Tries until it is answered, the lease has ended by itself, or the locks are dropped.
    async fn pay(&self, owed: &Owed) {
        let Held { name, mode, .. } = &owed.debt.held;
        for attempt in 0.. {
            let is_last = self.is_closed.load(SeqCst);
            match owed.store.release_in(*mode, name, owed.call()).await {
                Ok(_) => return,
                Err(error) if error.is_retryable() && !is_last && self.clock.now() < owed.debt.until + GRACE => {
                    self.clock.sleep(RETRY.delay(attempt)).await;
                }
                Err(error) => {
                    tracing::warn!(%name, %error, "a lock was not given back; it ends with its lease");
                    return;
                }
            }
        }
    }

    fn take(&self) -> Option<Owed> {
        self.owed().pop_front()
    }

    fn owed(&self) -> MutexGuard<'_, VecDeque<Owed>> {
        self.owed.lock()
    }
}

impl Owed {
    fn call(&self) -> Release {
        let waits = self.debt.turn.as_ref().is_some_and(|turn| turn.gate().has_queue());
        Release { owner: self.debt.held.owner, process: self.process, waits }
    }
}

/// Counts a debt as paid, however its task ends.
struct Paid(watch::Sender<usize>);

impl Drop for Paid {
    fn drop(&mut self) {
        self.0.send_modify(|pending| *pending = pending.saturating_sub(1));
    }
}
