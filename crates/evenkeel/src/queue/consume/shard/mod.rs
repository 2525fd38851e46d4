//! What the loops of one shard share, and what all shards of one consumer share.

pub(crate) mod heartbeat;
pub(crate) mod phase;
pub(crate) mod rescue;
pub(crate) mod running;
pub(crate) mod wake_up;
pub(crate) mod work;

use self::phase::Phase;
use self::running::Running;
use self::wake_up::Ear;
use super::delivery::Delivery;
use super::handled::{Handled, Reaction, words_of};
use crate::queue::consume::attempt::body::Room;
use crate::queue::consume::attempt::gather::Gatherer;
use crate::queue::consume::attempt::suspects::Suspects;
use crate::queue::metrics::ConsumerMetrics;
use crate::queue::queue::Core;
use evenkeel_link::Token;
use evenkeel_link::support::guard;
use evenkeel_protocol::queue::check;
use evenkeel_protocol::queue::steps::{ITEMS_MAX, Outcome, Receipt, Shard, Worker};
use parking_lot::Mutex;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Weak};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, SetOnce, mpsc, watch};

/// What a handler answers: its judgement, or what its error asks for and the error's words.
pub(crate) type Answer = Result<Handled, (Reaction, String)>;

/// The user's handler, with its errors judged.
pub(crate) type Handler<T> = Arc<dyn Fn(Delivery<T>) -> Pin<Box<dyn Future<Output = Answer> + Send>> + Send + Sync>;

/// What is done with a delivery that can be read.
pub(crate) enum Handling<T> {
    /// It goes to the handler.
    One(Handler<T>),
    /// It goes there together with others.
    Batch(Arc<Gatherer<T>>),
}

/// What all lanes of one consumer share.
pub(crate) struct Run<T> {
    pub(crate) core: Arc<Core<T>>,
    pub(crate) handling: Handling<T>,
    pub(crate) metrics: ConsumerMetrics,
    /// One permit for each handler that may run.
    pub(crate) slots: Arc<Semaphore>,
    /// Tells that slots have become free.
    pub(crate) room: Notify,
    pub(crate) suspects: Arc<Suspects>,
    /// Those that were opened.
    pub(crate) lanes: Mutex<Vec<Weak<Lane<T>>>>,
    /// Lanes that know of more work than they could take.
    pub(crate) hungry: AtomicUsize,
    pub(crate) phases: watch::Receiver<Phase>,
    /// For large records.
    pub(crate) bodies: Room,
    pub(crate) crash_max: u8,
    pub(crate) crash_delay_ms: u64,
}

impl<T> Run<T> {
    /// The lanes of all shards.
    pub(crate) fn lanes(&self) -> Vec<Arc<Lane<T>>> {
        self.lanes.lock().iter().filter_map(Weak::upgrade).collect()
    }
}

/// One shard, as one consumer serves it.
pub(crate) struct Lane<T> {
    pub(crate) run: Arc<Run<T>>,
    pub(crate) shard: Shard,
    pub(crate) running: Running,
    pub(crate) ear: Arc<Ear>,
    /// Of attempts that have ended; `None` if there is nothing to settle.
    ended: mpsc::UnboundedSender<Option<(Receipt, Outcome)>>,
    pub(crate) inbox: tokio::sync::Mutex<Inbox>,
    /// Asks for a heartbeat now.
    pub(crate) beat_now: Notify,
    /// Up to which beginning of a suspect the store knows how this shard's deliveries run. Held by whoever tells it.
    pub(crate) reported: tokio::sync::Mutex<u64>,
    /// Set once everything is settled.
    pub(crate) done: SetOnce<()>,
    /// The highest fence that SQL has refused this lane for.
    pub(crate) fence_floor: AtomicU64,
    worker: Mutex<Worker>,
    is_hungry: AtomicBool,
}

pub(crate) type Inbox = mpsc::UnboundedReceiver<Option<(Receipt, Outcome)>>;

impl<T> Lane<T> {
    pub(crate) fn new(run: &Arc<Run<T>>, shard: Shard, ear: Arc<Ear>) -> Self {
        let (ended, inbox) = mpsc::unbounded_channel();
        Self {
            run: Arc::clone(run),
            shard,
            running: Running::default(),
            ear,
            ended,
            inbox: tokio::sync::Mutex::new(inbox),
            beat_now: Notify::new(),
            reported: tokio::sync::Mutex::new(0),
            done: SetOnce::new(),
            fence_floor: AtomicU64::new(0),
            worker: Mutex::new(new_worker()),
            is_hungry: AtomicBool::new(false),
        }
    }

    /// The name under which the lane calls.
    pub(crate) fn worker(&self) -> Worker {
        *self.worker.lock()
    }

    /// Begins anew under another name.
    pub(crate) fn rename(&self) {
        *self.worker.lock() = new_worker();
    }

    /// An attempt has ended, and its slot is free.
    pub(crate) fn ended(&self, receipt: &Receipt, outcome: Option<Outcome>) {
        match outcome {
            Some(outcome) => {
                self.running.ended(receipt);
                // The receiver lives in `self`.
                let _ = self.ended.send(Some((*receipt, settleable(outcome))));
            }
            None => {
                self.running.remove(receipt);
                let _ = self.ended.send(None);
            }
        }
        self.run.room.notify_waiters();
    }

    /// Takes this lane's share of the free slots, at most `items`.
    pub(crate) fn take_slots(&self, items: usize) -> Option<OwnedSemaphorePermit> {
        if !guard("queue_free_slots") {
            self.run.slots.add_permits(ITEMS_MAX);
        }
        let free = self.run.slots.available_permits();
        let others = self.run.hungry.load(SeqCst).saturating_sub(usize::from(self.is_hungry.load(SeqCst)));
        let want = free.div_ceil(others + 1).min(items);
        if want == 0 {
            return None;
        }
        Arc::clone(&self.run.slots).try_acquire_many_owned(u32::try_from(want).ok()?).ok()
    }

    /// Waits until there is a free slot.
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

    /// Notes whether there is more work than this lane could take.
    pub(crate) fn hungry(&self, is_hungry: bool) {
        if self.is_hungry.swap(is_hungry, SeqCst) != is_hungry {
            if is_hungry {
                self.run.hungry.fetch_add(1, SeqCst);
            } else {
                self.run.hungry.fetch_sub(1, SeqCst);
            }
        }
    }
}

/// A settlement that the steps would refuse takes all others of its call with it: the job is dead instead, with the reason.
fn settleable(outcome: Outcome) -> Outcome {
    match check::settlement(&outcome) {
        Err(error) => Outcome::Dead { reason: words_of(&format!("its answer cannot be settled: {error}")) },
        Ok(()) => outcome,
    }
}

fn new_worker() -> Worker {
    Worker(*Token::random().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::settleable;
    use bytes::Bytes;
    use evenkeel_protocol::queue::steps::Outcome;

    #[test]
    fn an_answer_that_steps_refuse_is_dead_with_the_reason() {
        let endless = Outcome::Snoozed { after_ms: u64::MAX };
        let failed = Outcome::Failed { retry_ms: 0, error: Bytes::from(vec![b'x'; 60_001]) };
        for refused in [endless, failed] {
            let settled = settleable(refused);
            let is_told =
                matches!(&settled, Outcome::Dead { reason } if reason.starts_with(b"its answer cannot be settled"));
            assert!(is_told, "{settled:?}");
        }
        assert_eq!(settleable(Outcome::Snoozed { after_ms: 5 }), Outcome::Snoozed { after_ms: 5 });
    }
}
