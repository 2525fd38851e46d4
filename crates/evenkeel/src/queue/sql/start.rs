//! Before a handler runs: whether the row lets it. After it has done its job: the row goes first.

use super::judge::{Judge, step_of};
use super::table::Begin;
use crate::clock::Clock;
use crate::crash::crash_point;
use crate::guard::guard;
use crate::queue::error::QueueError;
use crate::queue::steps::{Outcome, QueueSteps, Receipt, Shard};
use crate::retry::Backoff;
use bytes::Bytes;
use std::time::Duration;

/// How long a job waits whose row could not be asked. No attempt is used.
const ASK_AGAIN_MS: u64 = 1_000;
const END: Backoff = Backoff { delay_min: Duration::from_millis(50), delay_max: Duration::from_secs(1) };
const END_TRIES: u32 = 4;

/// What the row says about a delivery.
pub(crate) enum Start {
    /// It may run.
    Run,
    /// It may not; so it ends.
    Not(Outcome),
    /// It may not, and the job is another one by now.
    Replaced,
    /// It may not: the row has seen this fence, which is as high or higher.
    Behind(u64),
}

impl Judge {
    /// Writes the delivery's fence into the row, if the row agrees.
    pub(crate) async fn start(&self, shard: &Shard, receipt: &Receipt, version: u64) -> Start {
        match self.try_start(shard, receipt, version).await {
            Ok(start) => start,
            Err(error) => {
                tracing::warn!(queue = %self.topic, id = %receipt.id, %error, "the row of a job cannot be asked; the job waits");
                self.metrics.refused("unreachable");
                Start::Not(Outcome::Snoozed { after_ms: ASK_AGAIN_MS })
            }
        }
    }

    async fn try_start(&self, shard: &Shard, receipt: &Receipt, version: u64) -> Result<Start, QueueError> {
        let (id, fence) = (receipt.id, receipt.fence);
        let begin = Begin { id, version, fence, now: self.store.now_ms() };
        if self.ask(self.table.start(&self.topic, begin)).await? || !guard("sql_start") {
            return Ok(Start::Run);
        }
        let Some(row) = self.ask(self.table.row(&self.topic, id)).await?.filter(|row| row.is_live) else {
            self.metrics.refused("ended");
            return Ok(Start::Not(Outcome::Done));
        };
        if row.version != version {
            self.metrics.refused("replaced");
            // Above it: the store has not heard of the change yet. Below it: the database was set back, and its word counts.
            let job = self.job_of(&row)?;
            let put = self.put_with(id, row.due_at, job);
            let step: Vec<_> = step_of(&put, u64::MAX).into_iter().collect();
            self.store.put(shard, &step).await?;
            return Ok(if row.version > version { Start::Replaced } else { Start::Not(Outcome::Done) });
        }
        if row.fence == fence {
            // Its own: the answer to the first statement was lost.
            return Ok(Start::Run);
        }
        if row.fence > fence {
            self.metrics.refused("fence");
            return Ok(Start::Behind(row.fence));
        }
        // The row agrees with everything: the topic is paused there, and the store has lost that.
        self.metrics.refused("paused");
        self.restore_pause().await?;
        Ok(Start::Not(Outcome::Released))
    }

    /// The handler has done the job, and the row is told so before the store. While the database is away that goes on, with the lease
    /// held: an end that only the store knows could be lost with it. `None`: told; else what the delivery ends with instead.
    pub(crate) async fn done(&self, receipt: &Receipt, version: u64) -> Option<Outcome> {
        for attempt in 0.. {
            match self.ask(self.table.done(&self.topic, receipt.id, version, receipt.fence)).await {
                Ok(_) => {
                    crash_point("job_row_ended");
                    return None;
                }
                Err(error) => {
                    tracing::warn!(queue = %self.topic, id = %receipt.id, %error, "the row of a job that is done could not be ended");
                    if !error.is_retryable() && attempt >= END_TRIES {
                        break;
                    }
                }
            }
            Clock::system().sleep(END.delay(attempt)).await;
        }
        // Its next begin finds out whether the row has ended after all.
        Some(Outcome::Snoozed { after_ms: ASK_AGAIN_MS })
    }

    /// What a delivery is given back with whose fence the row refuses.
    pub(crate) fn given_back() -> Outcome {
        if guard("sql_fence_given_back") { Outcome::Released } else { Outcome::Dead { reason: Bytes::new() } }
    }
}
