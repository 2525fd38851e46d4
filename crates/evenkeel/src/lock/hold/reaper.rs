//! The reaper: sends releases in the background, of dropped guards and of canceled acquisitions.

use super::lease::{Debt, Held};
use crate::lock::store::LockStore;
use crate::lock::store::locks::Locks;
use evenkeel_link::Token;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{Background, Backoff, guard};
use evenkeel_protocol::lock::steps::Release;
use metrics::{Gauge, gauge};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

/// The maximum number of concurrent releases.
const AT_ONCE: usize = 64;
const RETRY: Backoff = Backoff { delay_min: Duration::from_millis(20), delay_max: Duration::from_secs(1) };
/// How much later than known a lease may end whose renewal was not answered.
const GRACE: Duration = Duration::from_secs(1);

/// Sends pending releases to the store. Its task owns only a share of the queue, and each release has its own handle on the store: so an
/// idle task does not keep a connection open, and releases that are pending when the locks are dropped are sent before it closes.
pub(crate) struct Reaper {
    queue: Arc<Queue>,
    running: Mutex<Option<Background>>,
}

/// The queue of pending releases.
struct Queue {
    owed: Mutex<VecDeque<Owed>>,
    added: Notify,
    /// The number of releases that are neither answered nor given up.
    pending: watch::Sender<usize>,
    /// The locks were dropped: each pending release is sent once more, then the task ends.
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

    /// Starts the task that sends the releases, unless it runs. Needs the runtime on which the locks are acquired.
    pub(crate) fn start(&self, store: &LockStore) {
        if store.is_embedded() {
            return;
        }
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.as_ref().is_none_or(Background::is_over) {
            let queue = Arc::clone(&self.queue);
            let run = move || Arc::clone(&queue).work();
            *running = Some(Background::spawn("lock reaper", self.queue.clock.clone(), run));
        }
    }

    /// Takes a release over. Never blocks and needs no runtime: in the embedded store it happens at once, on Redis in the reaper's task.
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

    /// Completes when no release is pending.
    pub(crate) async fn drained(&self) {
        self.queue.run_once().await;
        // The sender is in `self`, so waiting cannot fail.
        let _ = self.queue.pending.subscribe().wait_for(|pending| *pending == 0).await;
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        self.queue.is_closed.store(true, SeqCst);
        let running = self.running.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(running) = running.filter(|_| guard("lock_reaper_sends_last")) {
            // The task ends by itself, once the pending releases were sent.
            running.leave();
            self.queue.added.notify_one();
        }
    }
}

impl Queue {
    /// Sends releases until the locks are dropped.
    async fn work(self: Arc<Self>) {
        loop {
            self.run_once().await;
            if self.is_closed.load(SeqCst) && self.owed().is_empty() && guard("lock_reaper_ends") {
                return;
            }
            self.added.notified().await;
        }
    }

    /// Sends the releases in the queue.
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

    /// Repeats a release until it is answered, the lease has expired, or the locks are dropped.
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
                    tracing::warn!(%name, %error, "a lock could not be released; it ends with its lease");
                    return;
                }
            }
        }
    }

    fn take(&self) -> Option<Owed> {
        self.owed().pop_front()
    }

    fn owed(&self) -> MutexGuard<'_, VecDeque<Owed>> {
        self.owed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Owed {
    fn call(&self) -> Release {
        let waits = self.debt.turn.as_ref().is_some_and(|turn| turn.gate().has_queue());
        Release { owner: self.debt.held.owner, process: self.process, waits }
    }
}

/// Counts a release as complete when it is dropped, however its task ends.
struct Paid(watch::Sender<usize>);

impl Drop for Paid {
    fn drop(&mut self) {
        self.0.send_modify(|pending| *pending = pending.saturating_sub(1));
    }
}
