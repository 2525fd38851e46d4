//! Sends the releases that nobody waits for: of guards that were dropped and of acquisitions that were cancelled.

use super::lease::{Debt, Held};
use super::locks::Locks;
use super::steps::Release;
use super::store::LockStore;
use crate::background::Background;
use crate::clock::Clock;
use crate::retry::Backoff;
use crate::token::Token;
use metrics::{Gauge, gauge};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

/// Releases on their way at once.
const AT_ONCE: usize = 64;
const RETRY: Backoff = Backoff { delay_min: Duration::from_millis(20), delay_max: Duration::from_secs(1) };
/// A lease whose renewal was not answered may end so much later than we know.
const GRACE: Duration = Duration::from_secs(1);

/// Debts on their way to the store.
pub(crate) struct Reaper {
    queue: Mutex<VecDeque<Owed>>,
    added: Notify,
    /// Debts that are neither paid nor given up.
    pending: watch::Sender<usize>,
    running: Mutex<Option<Background>>,
    clock: Clock,
    metrics: Gauges,
}

struct Owed {
    debt: Debt,
    process: Token,
}

struct Gauges {
    pending: Gauge,
    success: Gauge,
}

impl Reaper {
    pub(super) fn new(clock: Clock) -> Self {
        let metrics = Gauges {
            pending: gauge!("evenkeel_lock_releases_pending"),
            success: gauge!("evenkeel_lock_reaper_last_success_seconds"),
        };
        let (queue, added, running) = (Mutex::default(), Notify::new(), Mutex::default());
        Self { queue, added, pending: watch::Sender::new(0), running, clock, metrics }
    }

    /// Sees to it that somebody works off the queue. Needs the runtime that the locks are acquired on.
    pub(super) fn start(self: &Arc<Self>, store: &LockStore) {
        if matches!(store, LockStore::Memory(_)) {
            return;
        }
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.as_ref().is_none_or(Background::is_over) {
            let (reaper, store) = (Arc::downgrade(self), store.clone());
            *running = Some(Background::spawn("lock reaper", self.clock.clone(), move || {
                let (reaper, store) = (reaper.clone(), store.clone());
                async move {
                    while let Some(reaper) = reaper.upgrade() {
                        reaper.run_once(&store).await;
                        reaper.added.notified().await;
                    }
                }
            }));
        }
    }

    /// Takes a debt over. Never blocks, needs no runtime: an embedded store is told at once, Redis by the reaper's task.
    pub(super) fn hand_over(&self, locks: &Locks, debt: Debt) {
        let owed = Owed { debt, process: locks.process };
        let Held { name, mode, .. } = &owed.debt.held;
        if locks.store.release_now(*mode, name, owed.call()) {
            return;
        }
        self.pending.send_modify(|pending| *pending += 1);
        self.queue().push_back(owed);
        self.added.notify_one();
    }

    /// Works off what is in the queue.
    pub(super) async fn run_once(&self, store: &LockStore) {
        let mut paying = JoinSet::new();
        while let Some(owed) = self.take() {
            let (store, clock) = (store.clone(), self.clock.clone());
            let paid = Paid(self.pending.clone());
            paying.spawn(async move {
                pay(&store, &clock, &owed).await;
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

    /// Ready when nothing is owed any more.
    pub(super) async fn drained(&self, store: &LockStore) {
        self.run_once(store).await;
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.pending.subscribe().wait_for(|pending| *pending == 0).await;
    }

    fn take(&self) -> Option<Owed> {
        self.queue().pop_front()
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Owed>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Tries until it is answered, or the lease has ended by itself.
async fn pay(store: &LockStore, clock: &Clock, owed: &Owed) {
    let Held { name, mode, .. } = &owed.debt.held;
    for attempt in 0.. {
        match store.release_in(*mode, name, owed.call()).await {
            Ok(_) => return,
            Err(error) if error.is_retryable() && clock.now() < owed.debt.until + GRACE => {
                clock.sleep(RETRY.delay(attempt)).await;
            }
            Err(error) => {
                tracing::warn!(%name, %error, "a lock was not given back; it ends with its lease");
                return;
            }
        }
    }
}
