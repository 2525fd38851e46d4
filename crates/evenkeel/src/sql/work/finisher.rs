//! Marks the rows of carried-out works as done, many at a time, so that no caller waits for it.

use super::super::database::Database;
use super::super::outbox::{WorkId, rows};
use sqlx::Pool;
use std::marker::PhantomData;
use tokio::sync::{mpsc, watch};

/// Rows that are marked in one statement.
const BATCH_MAX: usize = 256;

/// Marks rows of one database. What it does not get to mark is carried out again by a relay, which is harmless.
pub(crate) struct Finisher<DB: Database> {
    done: mpsc::UnboundedSender<WorkId>,
    waiting: watch::Sender<usize>,
    database: PhantomData<fn() -> DB>,
}

impl<DB: Database> Finisher<DB> {
    /// Starts its task on the current runtime; it ends with this handle.
    pub(crate) fn start(pool: Pool<DB>) -> Self {
        let (done, works) = mpsc::unbounded_channel();
        let waiting = watch::Sender::new(0);
        tokio::spawn(mark(pool, works, waiting.clone()));
        Self { done, waiting, database: PhantomData }
    }

    /// The effects of this work have been carried out.
    pub(crate) fn done(&self, work: WorkId) {
        self.waiting.send_modify(|waiting| *waiting += 1);
        if self.done.send(work).is_err() {
            self.waiting.send_modify(|waiting| *waiting = waiting.saturating_sub(1));
        }
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
        let marked = async { rows::mark_done::<DB>(&mut *pool.acquire().await?, &batch).await };
        if let Err(error) = marked.await {
            tracing::debug!(%error, works = batch.len(), "rows were not marked as done; a relay will look at them again");
        }
        waiting.send_modify(|waiting| *waiting = waiting.saturating_sub(batch.len()));
        batch.clear();
    }
}
