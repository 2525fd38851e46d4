//! The state that the loops of one shard share, and the state that all shards of one consumer share.

pub(crate) mod heartbeat;
pub(crate) mod rescue;
pub(crate) mod running;
pub(crate) mod wake_up;
pub(crate) mod work;

use self::running::Running;
use self::wake_up::WakeUpListener;
use super::delivery::Delivery;
use super::handled::{Handled, Reaction, message_of};
use crate::handling::handler::Handling;
use crate::handling::limit::TimeLimit;
use crate::handling::phase::Phase;
use crate::process::draft::{Draft, Reported};
use crate::queue::consume::attempt::body::RecordBudget;
use crate::queue::consume::attempt::suspects::Suspects;
use crate::queue::metrics::ConsumerMetrics;
use crate::queue::queue::Core;
use evenkeel_link::Token;
use evenkeel_link::support::{Recurring, guard};
use evenkeel_protocol::process::report::ConsumerReport;
use evenkeel_protocol::queue::steps::{ITEMS_MAX, Outcome, Receipt, Shard, Worker};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Weak};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, SetOnce, mpsc, watch};

/// The result of a handler; of an error, the reaction to it and its message.
pub(crate) type HandlerResult = Result<Handled, (Reaction, String)>;

/// The state that all shard workers of one consumer share.
pub(crate) struct Run<T> {
    pub(crate) core: Arc<Core<T>>,
    pub(crate) handling: Handling<Delivery<T>, HandlerResult>,
    pub(crate) metrics: ConsumerMetrics,
    /// One permit per handler that may run.
    pub(crate) slots: Arc<Semaphore>,
    /// The number of the permits.
    pub(crate) slots_max: usize,
    /// Notified when slots have become free.
    pub(crate) room: Notify,
    pub(crate) suspects: Arc<Suspects>,
    /// The workers of all open shards.
    pub(crate) workers: Mutex<Vec<Weak<ShardWorker<T>>>>,
    /// The number of backlogged workers, which have more due jobs than they could claim.
    pub(crate) backlogged: AtomicUsize,
    pub(crate) phases: watch::Receiver<Phase>,
    pub(crate) time_limit: TimeLimit,
    /// The memory budget for large records.
    pub(crate) bodies: RecordBudget,
    pub(crate) crash_max: u8,
    pub(crate) crash_delay_ms: u64,
}

impl<T> Run<T> {
    /// The workers of all shards.
    pub(crate) fn workers(&self) -> Vec<Arc<ShardWorker<T>>> {
        self.workers.lock().iter().filter_map(Weak::upgrade).collect()
    }
}

impl<T: Send + Sync + 'static> Reported for Run<T> {
    fn add_to(&self, draft: &mut Draft) {
        let topic = &self.core.name;
        let consumer = || {
            let mut consumer = ConsumerReport::default();
            consumer.topic = topic.to_string();
            consumer.slots = self.slots_max as u64;
            consumer.used = self.slots_max.saturating_sub(self.slots.available_permits()) as u64;
            (consumer.handled, consumer.handled_ms) = self.metrics.handlers.totals();
            consumer
        };
        draft.add(|report| &mut report.consumers, consumer);
        self.workers().iter().for_each(|worker| worker.running.add_to(topic, draft));
    }
}

/// The part of a consumer that serves one shard.
pub(crate) struct ShardWorker<T> {
    pub(crate) run: Arc<Run<T>>,
    pub(crate) shard: Shard,
    pub(crate) running: Running,
    pub(crate) listener: Arc<WakeUpListener>,
    /// Attempts that have ended; `None` if there is nothing to settle.
    ended: mpsc::UnboundedSender<Option<(Receipt, Outcome)>>,
    pub(crate) inbox: tokio::sync::Mutex<Inbox>,
    /// Requests a heartbeat now.
    pub(crate) heartbeat_now: Notify,
    /// The number of the latest start of a suspect for which this shard's deliveries were reported to the store. Locked during a report.
    pub(crate) reported: tokio::sync::Mutex<u64>,
    /// Set once everything is settled.
    pub(crate) done: SetOnce<()>,
    /// The highest fence for which SQL has rejected a fence of this worker.
    pub(crate) fence_floor: AtomicU64,
    /// Refusals of calls, which are logged now and then.
    pub(crate) refused: Recurring,
    id: Mutex<Worker>,
    is_backlogged: AtomicBool,
}

pub(crate) type Inbox = mpsc::UnboundedReceiver<Option<(Receipt, Outcome)>>;

impl<T> ShardWorker<T> {
    pub(crate) fn new(run: &Arc<Run<T>>, shard: Shard, listener: Arc<WakeUpListener>) -> Self {
        let (ended, inbox) = mpsc::unbounded_channel();
        Self {
            run: Arc::clone(run),
            shard,
            running: Running::default(),
            listener,
            ended,
            inbox: tokio::sync::Mutex::new(inbox),
            heartbeat_now: Notify::new(),
            reported: tokio::sync::Mutex::new(0),
            done: SetOnce::new(),
            fence_floor: AtomicU64::new(0),
            refused: Recurring::default(),
            id: Mutex::new(new_worker_id()),
            is_backlogged: AtomicBool::new(false),
        }
    }

    /// The id under which this worker calls the store.
    pub(crate) fn id(&self) -> Worker {
        *self.id.lock()
    }

    /// Takes a new id.
    pub(crate) fn take_new_id(&self) {
        *self.id.lock() = new_worker_id();
    }

    /// Records that an attempt has ended and its slot is free.
    pub(crate) fn ended(&self, receipt: &Receipt, outcome: Option<Outcome>) {
        match outcome {
            Some(outcome) => {
                self.running.ended(receipt);
                // The receiver is in `self`, so sending cannot fail.
                let _ = self.ended.send(Some((*receipt, settleable(outcome))));
            }
            None => {
                self.running.remove(receipt);
                let _ = self.ended.send(None);
            }
        }
        self.run.room.notify_waiters();
    }

    /// Takes this worker's share of the free slots, at most `items`.
    pub(crate) fn take_slots(&self, items: usize) -> Option<OwnedSemaphorePermit> {
        if !guard("queue_free_slots") {
            self.run.slots.add_permits(ITEMS_MAX);
        }
        let free = self.run.slots.available_permits();
        let others = self.run.backlogged.load(SeqCst).saturating_sub(usize::from(self.is_backlogged.load(SeqCst)));
        let limit = free.div_ceil(others + 1).min(items);
        if limit == 0 {
            return None;
        }
        Arc::clone(&self.run.slots).try_acquire_many_owned(u32::try_from(limit).ok()?).ok()
    }

    /// Waits for a free slot.
    pub(crate) async fn has_slot(&self) {
        loop {
            let mut freed = std::pin::pin!(self.run.room.notified());
            freed.as_mut().enable();
            if self.run.slots.available_permits() > 0 {
                return;
            }
            freed.await;
        }
    }

    /// Records whether this shard has more due jobs than the worker could claim.
    pub(crate) fn set_backlogged(&self, is_backlogged: bool) {
        if self.is_backlogged.swap(is_backlogged, SeqCst) != is_backlogged {
            if is_backlogged {
                self.run.backlogged.fetch_add(1, SeqCst);
            } else {
                self.run.backlogged.fetch_sub(1, SeqCst);
            }
        }
    }
}

/// Replaces a settlement that the steps would reject, which would fail all settlements of its call, by `Dead` with the reason.
fn settleable(outcome: Outcome) -> Outcome {
    match outcome.check() {
        Err(error) if guard("queue_settleable") => {
            Outcome::Dead { reason: message_of(&format!("the handler's result cannot be settled: {error}")) }
        }
        _ => outcome,
    }
}

fn new_worker_id() -> Worker {
    Worker(*Token::random().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::settleable;
    use bytes::Bytes;
    use evenkeel_protocol::queue::steps::Outcome;

    // shows: hazard A1
    #[test]
    fn rejected_outcome_is_dead_with_the_reason() {
        let endless = Outcome::Snoozed { after_ms: u64::MAX };
        let failed = Outcome::Failed { retry_ms: 0, error: Bytes::from(vec![b'x'; 60_001]) };
        for rejected in [endless, failed] {
            let settled = settleable(rejected);
            let has_reason = matches!(&settled, Outcome::Dead { reason } if reason.starts_with(b"the handler's result cannot be settled"));
            assert!(has_reason, "{settled:?}");
        }
        assert_eq!(settleable(Outcome::Snoozed { after_ms: 5 }), Outcome::Snoozed { after_ms: 5 });
    }
}
