//! Checks the row before a handler runs, and writes the end of an attempt to the row before the store.

use super::source_of_truth::JobRows;
use super::table::{Begin, Failed, JobTable};
use crate::sql::SqlError;
use bytes::Bytes;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{Backoff, crash_point, guard};
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::{ErrorClass, ErrorNote};
use evenkeel_protocol::queue::record::encode_error;
use evenkeel_protocol::queue::steps::{Outcome, Puts, Receipt, Shard};
use futures_util::future::BoxFuture;
use std::time::Duration;

/// The delay of a job whose row could not be read. No attempt is used.
const SNOOZE_MS: u64 = 1_000;
const END: Backoff = Backoff { delay_min: Duration::from_millis(50), delay_max: Duration::from_secs(1) };
const END_TRIES: u32 = 4;

/// The row's decision about a delivery.
pub(crate) enum Start {
    /// The handler may run.
    Run,
    /// The handler may not run; the delivery ends with this outcome.
    Not(Outcome),
    /// The handler may not run, because the job was replaced.
    Replaced,
    /// The handler may not run, because the row has this fence, which is as high or higher.
    Behind(u64),
}

impl JobRows {
    /// Writes the delivery's fence into the row, if the row permits the delivery.
    pub(crate) async fn start(&self, shard: &Shard, receipt: &Receipt, version: u64, errors: u16) -> Start {
        let start = self.try_start(shard, receipt, version, errors).await;
        self.failing.log("start", &start, |error, times| {
            tracing::warn!(queue = %self.topic, id = %receipt.id, %error, times, "the row of a job could not be read; the job is delayed, as are others");
        });
        start.unwrap_or_else(|_| {
            self.metrics.not_started("unreachable");
            Start::Not(Outcome::Snoozed { after_ms: SNOOZE_MS })
        })
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
            self.metrics.not_started("ended");
            return Ok(Start::Not(Outcome::Done));
        };
        if row.version != version {
            self.metrics.not_started("replaced");
            // A higher version: the store does not have the change yet. A lower one: the database was restored from a backup, and decides.
            self.store.run(shard, &Puts(vec![self.put_of_row(id, &row)?])).await?;
            return Ok(if row.version > version { Start::Replaced } else { Start::Not(Outcome::Done) });
        }
        if row.is_dead {
            // The store has lost the death, or the worker died between its updates of the row and of the store.
            self.metrics.not_started("dead");
            return Ok(Start::Not(Outcome::Dead {
                reason: Bytes::from_static(b"the job is dead according to its row"),
            }));
        }
        if row.fence == fence {
            // This delivery's own fence: the reply to the first statement was lost.
            return Ok(Start::Run);
        }
        if row.fence > fence {
            self.metrics.not_started("fence");
            return Ok(Start::Behind(row.fence));
        }
        // Only a pause is left as the reason, which the store has lost.
        self.metrics.not_started("paused");
        self.restore_pause().await?;
        Ok(Start::Not(Outcome::Released))
    }

    /// Writes to the row, before the store, that the job is done. While the database is unavailable it retries, with the lease held,
    /// because the store could lose an end that only it has. Returns `None` once written, else the outcome to use instead.
    pub(crate) async fn done(&self, receipt: &Receipt, version: u64) -> Option<Outcome> {
        self.write_end(receipt, |table| table.done(&self.topic, receipt.id, version, receipt.fence)).await
    }

    /// A failed attempt for the row; without a delay the job is dead.
    pub(crate) fn failure(&self, errors: u16, class: ErrorClass, message: &Bytes, retry_ms: Option<u64>) -> Failed {
        let (now, errors) = (self.store.now_ms(), errors.saturating_add(1));
        let failure = encode_error(&ErrorNote { at: now, class, attempt: errors, text: message.clone() });
        Failed { errors, failure, is_dead: retry_ms.is_none(), at: now.saturating_add(retry_ms.unwrap_or(0)) }
    }

    /// Writes to the row, before the store, that the last attempt has failed and the job is dead. Returns like [`done`](Self::done).
    pub(crate) async fn died(&self, receipt: &Receipt, version: u64, failed: &Failed) -> Option<Outcome> {
        if !guard("sql_death_in_row") {
            return None;
        }
        self.write_end(receipt, |table| table.failed(&self.topic, receipt, version, failed)).await
    }

    /// Writes to the row that an attempt has failed and another one follows. A failed write is not repeated: the next start writes the
    /// number of attempts, so that no lease is held for a database whose outage may be the cause of the failure.
    pub(crate) async fn failed(&self, receipt: &Receipt, version: u64, failed: &Failed) {
        if !guard("sql_attempt_in_row") {
            return;
        }
        let written = self.ask(self.table.failed(&self.topic, receipt, version, failed)).await;
        self.failing.log("failed", &written, |error, times| {
            tracing::warn!(queue = %self.topic, id = %receipt.id, %error, times, "a failed attempt could not be written to its row");
        });
    }

    async fn write_end<'a>(
        &'a self,
        receipt: &Receipt,
        what: impl Fn(&'a dyn JobTable) -> BoxFuture<'a, Result<bool, SqlError>>,
    ) -> Option<Outcome> {
        for attempt in 0.. {
            let written = self.ask(what(&*self.table)).await;
            if written.is_ok() {
                crash_point("job_row_ended");
            }
            self.failing.log("end", &written, |error, times| {
                tracing::warn!(queue = %self.topic, id = %receipt.id, %error, times, "the end of a job could not be written to its row; it is retried");
            });
            match written {
                Ok(_) => return None,
                Err(error) if !error.is_retryable() && attempt >= END_TRIES => break,
                Err(_) => {}
            }
            Clock::system().sleep(END.delay(attempt)).await;
        }
        // The next attempt checks whether the row has ended after all.
        Some(Outcome::Snoozed { after_ms: SNOOZE_MS })
    }

    /// The outcome of a delivery whose fence the row rejects.
    pub(crate) fn given_back() -> Outcome {
        if guard("sql_fence_given_back") { Outcome::Released } else { Outcome::Dead { reason: Bytes::new() } }
    }
}
