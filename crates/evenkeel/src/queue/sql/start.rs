//! Before a handler runs: whether the row lets it. After it has done its job: the row goes first.

use super::judge::Judge;
use super::table::{Answer, Begin, Failed, JobTable};
use bytes::Bytes;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{Backoff, crash_point, guard};
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::{ErrorClass, ErrorNote};
use evenkeel_protocol::queue::record::encode_error;
use evenkeel_protocol::queue::steps::{Outcome, Receipt, Shard};
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
    pub(crate) async fn start(&self, shard: &Shard, receipt: &Receipt, version: u64, errors: u16) -> Start {
        match self.try_start(shard, receipt, version, errors).await {
            Ok(start) => start,
            Err(error) => {
                tracing::warn!(queue = %self.topic, id = %receipt.id, %error, "the row of a job cannot be asked; the job waits");
                self.metrics.refused("unreachable");
                Start::Not(Outcome::Snoozed { after_ms: ASK_AGAIN_MS })
            }
        }
    }

    async fn try_start(
        &self,
        shard: &Shard,
        receipt: &Receipt,
        version: u64,
        errors: u16,
    ) -> Result<Start, QueueError> {
        let (id, fence) = (receipt.id, receipt.fence);
        let begin = Begin { id, version, fence, errors, now: self.store.now_ms() };
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
            self.store.put(shard, &[self.put_of_row(id, &row)?]).await?;
            return Ok(if row.version > version { Start::Replaced } else { Start::Not(Outcome::Done) });
        }
        if row.is_dead {
            // The store was set back, or its worker died between the row and the store.
            self.metrics.refused("dead");
            return Ok(Start::Not(Outcome::Dead { reason: Bytes::from_static(b"its row says that it is dead") }));
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
        self.tell(receipt, |table| table.done(&self.topic, receipt.id, version, receipt.fence)).await
    }

    /// What a row is told of a failed attempt; without a delay the job is dead.
    pub(crate) fn failure(&self, errors: u16, class: ErrorClass, words: &Bytes, retry_ms: Option<u64>) -> Failed {
        let (now, errors) = (self.store.now_ms(), errors.saturating_add(1));
        let failure = encode_error(&ErrorNote { at: now, class, attempt: errors, text: words.clone() });
        Failed { errors, failure, is_dead: retry_ms.is_none(), at: now.saturating_add(retry_ms.unwrap_or(0)) }
    }

    /// A handler has failed for the last time: its row says that it is dead before the store does, in the same way.
    pub(crate) async fn died(&self, receipt: &Receipt, version: u64, failed: &Failed) -> Option<Outcome> {
        if !guard("sql_death_in_row") {
            return None;
        }
        self.tell(receipt, |table| table.failed(&self.topic, receipt, version, failed)).await
    }

    /// A handler has failed, and another attempt follows. If the row cannot be told at once, the next begin tells it how many attempts there
    /// were, so that no lease is kept for a database which may be what failed.
    pub(crate) async fn failed(&self, receipt: &Receipt, version: u64, failed: &Failed) {
        if !guard("sql_attempt_in_row") {
            return;
        }
        if let Err(error) = self.ask(self.table.failed(&self.topic, receipt, version, failed)).await {
            tracing::warn!(queue = %self.topic, id = %receipt.id, %error, "the row of a job that failed could not be told so");
        }
    }

    async fn tell<'a>(
        &'a self,
        receipt: &Receipt,
        what: impl Fn(&'a dyn JobTable) -> Answer<'a, bool>,
    ) -> Option<Outcome> {
        for attempt in 0.. {
            match self.ask(what(&*self.table)).await {
                Ok(_) => {
                    crash_point("job_row_ended");
                    return None;
                }
                Err(error) => {
                    tracing::warn!(queue = %self.topic, id = %receipt.id, %error, "the row of a job could not be told how it ended");
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
