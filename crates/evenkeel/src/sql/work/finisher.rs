//! Marks the rows of carried-out works as done, many at a time, so that no caller waits for it.

use super::super::database::{Database, Trouble};
use super::super::outbox::{WorkId, rows};
use super::notifier::Notifier;
use sqlx::Pool;
use std::marker::PhantomData;
use tokio::sync::{mpsc, watch};

/// Rows that are marked in one statement.
const BATCH_MAX: usize = 256;
/// Times that it is tried, if others are in the way.
const ATTEMPTS_MAX: u32 = 3;

/// Marks rows of one database. What it does not get to mark is carried out again by a relay, which is harmless.
pub(crate) struct Finisher<DB: Database> {
    done: mpsc::UnboundedSender<WorkId>,
    waiting: watch::Sender<usize>,
    notifier: Notifier,
    database: PhantomData<fn() -> DB>,
}

impl<DB: Database> Finisher<DB> {
    /// Starts its task on the current runtime; it ends with this handle.
    pub(crate) fn start(pool: Pool<DB>) -> Self {
        let (done, works) = mpsc::unbounded_channel();
        let waiting = watch::Sender::new(0);
        let notifier = Notifier::start(pool.clone());
        tokio::spawn(mark(pool, works, waiting.clone()));
        Self { done, waiting, notifier, database: PhantomData }
    }

    /// The effects of this work have been carried out.
    pub(crate) fn done(&self, work: WorkId) {
        self.waiting.send_modify(|waiting| *waiting += 1);
        if self.done.send(work).is_err() {
            self.waiting.send_modify(|waiting| *waiting = waiting.saturating_sub(1));
        }
    }

    /// A commit has left something: relays of other processes are told, where the database can.
    pub(crate) fn notify(&self) {
        self.notifier.notify();
    }

    /// Waits until nothing waits to be marked.
    #[cfg(feature = "testing")]
    pub(crate) async fn until_idle(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.waiting.subscribe().wait_for(|waiting| *waiting == 0).await;
    }
}

async fn mark<DB: Database>(pool: Pool<DB>, mut works: mpsc::UnboundedReceiver<WorkId>, waiting: watch::Sender<usize>) {
    let mut batch = Vec::with_capacity(BATCH_MAX);
    while works.recv_many(&mut batch, BATCH_MAX).await > 0 {
        for attempt in 1..=ATTEMPTS_MAX {
            let marked = async { rows::mark_done::<DB>(&mut *pool.acquire().await?, &batch).await };
            let Err(error) = marked.await else { break };
            // A relay that claims some of these rows can be the other side of a deadlock.
            let is_over = attempt == ATTEMPTS_MAX || DB::trouble(&error) != Trouble::Contention;
            tracing::debug!(%error, works = batch.len(), is_over, "rows were not marked as done");
            if is_over {
                // A relay will look at them again.
                break;
            }
        }
        waiting.send_modify(|waiting| *waiting = waiting.saturating_sub(batch.len()));
        batch.clear();
    }
}
