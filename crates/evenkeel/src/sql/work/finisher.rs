//! Marks the rows of carried-out units of work as done, in batches, so that no caller waits for it.

use super::notifier::Notifier;
use crate::sql::database::{Pool, class_of_error};
use crate::sql::outbox::{WorkId, rows};
use crate::sql::transaction::close_if_over;
use evenkeel_link::clock::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, mpsc, watch};

/// The maximum number of rows that are marked in one statement.
const BATCH_MAX: usize = 256;
/// How long a row waits for others: a statement for each would cost the database as much as the commit did. A relay claims rows that
/// are not marked two seconds after their commit.
const GATHER_MAX: Duration = Duration::from_millis(50);
/// The maximum number of attempts in case of lock conflicts.
const ATTEMPTS_MAX: u32 = 3;

/// Marks rows of one database. If it fails to mark a row, a relay carries its effects out again, which is harmless.
pub(crate) struct Finisher {
    done: mpsc::UnboundedSender<WorkId>,
    waiting: watch::Sender<usize>,
    /// Ends the wait for further rows, for tests that wait for the marks.
    #[cfg_attr(not(feature = "testing"), expect(dead_code, reason = "only tests wait for it"))]
    flush: Arc<Notify>,
    notifier: Notifier,
    /// Whether the library's tables are known to exist.
    has_tables: AtomicBool,
}

impl Finisher {
    /// Starts its task on the current runtime; the task ends when this handle is dropped.
    pub(crate) fn start(pool: Pool, clock: Clock) -> Self {
        let (done, units) = mpsc::unbounded_channel();
        let (waiting, flush) = (watch::Sender::new(0), Arc::new(Notify::new()));
        let notifier = Notifier::start(pool.clone());
        let gatherer = Gatherer { units, clock, flush: Arc::clone(&flush) };
        evenkeel_link::support::spawn(mark(pool, gatherer, waiting.clone()));
        Self { done, waiting, flush, notifier, has_tables: AtomicBool::new(false) }
    }

    /// Whether the tables are known to exist.
    pub(crate) fn has_tables(&self) -> bool {
        self.has_tables.load(Ordering::Relaxed)
    }

    /// Records that the tables exist.
    pub(crate) fn found_tables(&self) {
        self.has_tables.store(true, Ordering::Relaxed);
    }

    /// Marks a unit of work as done after its effects have been carried out.
    pub(crate) fn done(&self, work: WorkId) {
        self.waiting.send_modify(|waiting| *waiting += 1);
        if self.done.send(work).is_err() {
            self.waiting.send_modify(|waiting| *waiting = waiting.saturating_sub(1));
        }
    }

    /// Notifies relays of other processes, if the database supports it, after a commit that left effects.
    pub(crate) fn notify(&self) {
        self.notifier.notify();
    }

    /// Waits until all rows are marked.
    #[cfg(feature = "testing")]
    pub(crate) async fn until_idle(&self) {
        let mut waiting = self.waiting.subscribe();
        while *waiting.borrow_and_update() > 0 {
            self.flush.notify_one();
            // The sender is a field of `self`, so waiting cannot fail.
            let _ = waiting.changed().await;
        }
    }
}

/// Collects the units of work that are marked together.
struct Gatherer {
    units: mpsc::UnboundedReceiver<WorkId>,
    clock: Clock,
    flush: Arc<Notify>,
}

impl Gatherer {
    /// Waits for the next units of work, and for a short time after the first for further ones; empty if there are no more.
    async fn gather(&mut self, batch: &mut Vec<WorkId>) {
        let Some(first) = self.units.recv().await else { return };
        batch.push(first);
        let is_over = async {
            tokio::select! {
                () = self.clock.sleep(GATHER_MAX) => {}
                () = self.flush.notified() => {}
            }
        };
        tokio::pin!(is_over);
        while batch.len() < BATCH_MAX {
            let left = BATCH_MAX - batch.len();
            tokio::select! {
                biased;
                more = self.units.recv_many(batch, left) => if more == 0 { return },
                () = &mut is_over => return,
            }
        }
    }
}

async fn mark(pool: Pool, mut gatherer: Gatherer, waiting: watch::Sender<usize>) {
    let mut batch = Vec::with_capacity(BATCH_MAX);
    loop {
        gatherer.gather(&mut batch).await;
        if batch.is_empty() {
            return;
        }
        for attempt in 1..=ATTEMPTS_MAX {
            let marked = async {
                let mut connection = pool.acquire().await?;
                let answer = rows::mark_done(&mut *connection, &batch).await;
                close_if_over(&mut connection, answer)
            };
            let Err(error) = marked.await else { break };
            // A relay that claims some of these rows may be the other side of a deadlock.
            let is_over = attempt == ATTEMPTS_MAX || !class_of_error(&error).is_contention();
            tracing::debug!(%error, units = batch.len(), is_over, "rows were not marked as done");
            if is_over {
                // A relay will claim them again.
                break;
            }
        }
        waiting.send_modify(|waiting| *waiting = waiting.saturating_sub(batch.len()));
        batch.clear();
    }
}
