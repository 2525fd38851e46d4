//! The reaper: sends releases in the background, of dropped guards and of canceled acquisitions.

use super::lease::{Held, PendingRelease};
use crate::lock::store::LockStore;
use crate::lock::store::locks::Locks;
use evenkeel_link::Token;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{Background, Backoff, InProgress, Recurring, guard};
use evenkeel_protocol::lock::error::LockError;
use evenkeel_protocol::lock::steps::Release;
use metrics::{Gauge, gauge};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
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
    releases: Mutex<VecDeque<(QueuedRelease, InProgress)>>,
    added: Notify,
    /// The number of releases that are neither answered nor given up.
    pending: watch::Sender<usize>,
    /// The locks were dropped: each pending release is sent once more, then the task ends.
    is_closed: AtomicBool,
    clock: Clock,
    metrics: Gauges,
    /// The failures that were logged.
    failing: Recurring,
}

struct QueuedRelease {
    release: PendingRelease,
    process: Token,
    store: LockStore,
}

metrics! {
    struct Gauges {
        pending: Gauge = gauge!("evenkeel_lock_releases_pending");
        success: Gauge = gauge!("evenkeel_lock_reaper_last_success_seconds");
    }
}

impl Reaper {
    pub(crate) fn new(clock: Clock) -> Self {
        let (releases, added, is_closed) = (Mutex::default(), Notify::new(), AtomicBool::new(false));
        let (pending, metrics, failing) = (watch::Sender::new(0), Gauges::register(), Recurring::default());
        let queue = Queue { releases, added, pending, is_closed, clock, metrics, failing };
        Self { queue: Arc::new(queue), running: Mutex::default() }
    }

    /// Starts the task that sends the releases, unless it runs. Needs the runtime on which the locks are acquired.
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

    /// Takes a release over. Never blocks and needs no runtime: in the embedded store it happens at once, on Redis in the reaper's task.
    pub(crate) fn hand_over(&self, locks: &Locks, release: PendingRelease) {
        let queued = QueuedRelease { release, process: locks.process, store: locks.store.clone() };
        let Held { name, mode, .. } = &queued.release.held;
        if locks.store.release_now_in(*mode, name, queued.call()) {
            return;
        }
        let pending = InProgress::begin(&self.queue.pending);
        self.queue.releases.lock().push_back((queued, pending));
        self.queue.added.notify_one();
    }

    /// Completes when no release is pending.
    pub(crate) async fn drained(&self) {
        self.queue.run_once().await;
        InProgress::until_none(&self.queue.pending).await;
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        self.queue.is_closed.store(true, SeqCst);
        let running = self.running.get_mut().take();
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
            if self.is_closed.load(SeqCst) && self.releases.lock().is_empty() && guard("lock_reaper_ends") {
                return;
            }
            self.added.notified().await;
        }
    }

    /// Sends the releases in the queue.
    async fn run_once(self: &Arc<Self>) {
        let mut sending = JoinSet::new();
        while let Some((queued, pending)) = self.next() {
            let queue = Arc::clone(self);
            sending.spawn(async move {
                queue.send(&queued).await;
                drop((queued, pending));
            });
            if sending.len() >= AT_ONCE {
                sending.join_next().await;
            }
        }
        while sending.join_next().await.is_some() {}
        self.metrics.pending.set(*self.pending.borrow() as f64);
        self.metrics.success.set(self.clock.unix_ms() as f64 / 1000.0);
    }

    /// Repeats a release until it is answered, the lease has expired, or the locks are dropped.
    async fn send(&self, queued: &QueuedRelease) {
        let Held { name, mode, .. } = &queued.release.held;
        for attempt in 0.. {
            let is_last = self.is_closed.load(SeqCst);
            let released = queued.store.release_in(*mode, name, queued.call()).await;
            let is_over = is_last || self.clock.now() >= queued.release.until + GRACE;
            if !is_over && released.as_ref().is_err_and(LockError::is_retryable) {
                self.clock.sleep(RETRY.delay(attempt)).await;
                continue;
            }
            return self.failing.log("release", &released, |error, times| {
                tracing::warn!(%name, %error, times, "a lock could not be released; it ends with its lease, as may others");
            });
        }
    }

    fn next(&self) -> Option<(QueuedRelease, InProgress)> {
        self.releases.lock().pop_front()
    }
}

impl QueuedRelease {
    fn call(&self) -> Release {
        let waits = self.release.turn.as_ref().is_some_and(|turn| turn.gate().has_queue());
        Release { owner: self.release.held.owner, process: self.process, waits }
    }
}
