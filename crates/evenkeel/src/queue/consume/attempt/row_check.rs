//! The check of a delivery against the row of its job, under `Durability::Sql`: the row is the source of truth.

use crate::queue::consume::shard::ShardWorker;
#[cfg(feature = "sql")]
use bytes::Bytes;
use evenkeel_protocol::queue::job::Job;
#[cfg(feature = "sql")]
use evenkeel_protocol::queue::job::{ErrorClass, Retries};
use evenkeel_protocol::queue::steps::{Outcome, Receipt};

/// The row check of one delivery. A job without a row may always run.
pub(crate) struct RowCheck<'a, T> {
    #[cfg(feature = "sql")]
    case: Option<Case<'a, T>>,
    #[cfg(not(feature = "sql"))]
    _worker: std::marker::PhantomData<&'a ShardWorker<T>>,
}

#[cfg(feature = "sql")]
impl<'a, T> RowCheck<'a, T> {
    /// Only jobs with a version have rows; ticks of a schedule and jobs of another durability have none.
    pub(crate) fn of(worker: &'a ShardWorker<T>, receipt: Receipt, job: &Job) -> Self {
        let rows = worker.run.core.rows.clone().zip(job.spec.version);
        let (errors, retries, is_discarded) = (job.errors, job.spec.retries, job.spec.discard_exhausted);
        let case = rows.map(|(rows, version)| Case { worker, rows, receipt, version, errors, retries, is_discarded });
        Self { case }
    }

    /// Checks the row. An error has the outcome of the delivery, or `None` if the delivery is no longer current.
    pub(crate) async fn may_start(&self) -> Result<(), Option<Outcome>> {
        use crate::queue::sql::{JobRows, Start};
        let Some(Case { worker, rows, receipt, version, errors, .. }) = &self.case else { return Ok(()) };
        match rows.start(&worker.shard, receipt, *version, *errors).await {
            Start::Run => Ok(()),
            Start::Not(outcome) => Err(Some(outcome)),
            Start::Replaced => Err(None),
            Start::Behind(fence) => {
                worker.fence_floor.fetch_max(fence, std::sync::atomic::Ordering::SeqCst);
                Err(Some(JobRows::given_back()))
            }
        }
    }

    /// The outcome of a job that has crashed too often. `rescue` leaves this decision to the next attempt, because only the row shows
    /// whether the job was done before its lease expired.
    pub(crate) fn exhausted(&self, job: &Job) -> Option<Outcome> {
        let worker = self.case.as_ref()?.worker;
        let Retries::Limited(retries) = job.spec.retries else { return None };
        let is_over = job.errors > retries || (job.crashes > 0 && job.crashes >= worker.run.crash_max && job.alone);
        let reason = "the job has crashed too often";
        is_over.then(|| match job.spec.discard_exhausted && job.errors > retries {
            true => Outcome::Failed { retry_ms: 0, error: reason.into() },
            false => Outcome::Dead { reason: reason.into() },
        })
    }

    /// Writes the end of an attempt to the row, before the store is updated; returns the outcome for the store.
    pub(crate) async fn ended(&self, outcome: Outcome) -> Outcome {
        let Some(case) = &self.case else { return outcome };
        let Case { rows, receipt, version, .. } = case;
        let replaced = match &outcome {
            Outcome::Done => rows.done(receipt, *version).await,
            Outcome::Failed { retry_ms, error } => case.failed(*retry_ms, error).await,
            Outcome::Dead { reason } => {
                let died = rows.failure(case.errors, ErrorClass::Dead, reason, None);
                rows.died(receipt, *version, &died).await
            }
            Outcome::Snoozed { .. } | Outcome::Released => None,
        };
        replaced.unwrap_or(outcome)
    }
}

/// A job with a row.
#[cfg(feature = "sql")]
struct Case<'a, T> {
    worker: &'a ShardWorker<T>,
    rows: std::sync::Arc<crate::queue::sql::JobRows>,
    receipt: Receipt,
    version: u64,
    /// The number of errors before this attempt.
    errors: u16,
    retries: Retries,
    is_discarded: bool,
}

#[cfg(feature = "sql")]
impl<T> Case<'_, T> {
    /// Writes a failure to the row. The store decides alike whether this was the last attempt.
    async fn failed(&self, retry_ms: u64, error: &Bytes) -> Option<Outcome> {
        let is_last = matches!(self.retries, Retries::Limited(retries) if self.errors.saturating_add(1) > retries);
        if is_last && self.is_discarded {
            // The store ends the job, and the sweep ends its row.
            return None;
        }
        let retry_ms = (!is_last).then_some(retry_ms);
        let failed = self.rows.failure(self.errors, ErrorClass::Failed, error, retry_ms);
        if is_last {
            return self.rows.died(&self.receipt, self.version, &failed).await;
        }
        self.rows.failed(&self.receipt, self.version, &failed).await;
        None
    }
}

#[cfg(not(feature = "sql"))]
impl<'a, T> RowCheck<'a, T> {
    pub(crate) fn of(_worker: &'a ShardWorker<T>, _receipt: Receipt, _job: &Job) -> Self {
        Self { _worker: std::marker::PhantomData }
    }

    pub(crate) async fn may_start(&self) -> Result<(), Option<Outcome>> {
        std::future::ready(Ok(())).await
    }

    pub(crate) fn exhausted(&self, _job: &Job) -> Option<Outcome> {
        None
    }

    pub(crate) async fn ended(&self, outcome: Outcome) -> Outcome {
        std::future::ready(outcome).await
    }
}
