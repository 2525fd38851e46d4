//! The check of a delivery against the row of its job, under `Durability::Sql`: the row is the source of truth.

use crate::queue::consume::shard::Lane;
#[cfg(feature = "sql")]
use bytes::Bytes;
use evenkeel_protocol::queue::job::Job;
#[cfg(feature = "sql")]
use evenkeel_protocol::queue::job::{ErrorClass, Retries};
use evenkeel_protocol::queue::steps::{Outcome, Receipt};

/// The row check of one delivery. A job without a row may always run.
pub(crate) struct Judged<'a, T> {
    #[cfg(feature = "sql")]
    case: Option<Case<'a, T>>,
    #[cfg(not(feature = "sql"))]
    _lane: std::marker::PhantomData<&'a Lane<T>>,
}

#[cfg(feature = "sql")]
impl<'a, T> Judged<'a, T> {
    /// Only jobs with a version have rows; ticks of a schedule and jobs of another durability have none.
    pub(crate) fn of(lane: &'a Lane<T>, receipt: Receipt, job: &Job) -> Self {
        let judge = lane.run.core.judge.clone().zip(job.spec.version);
        let (errors, retries, is_discarded) = (job.errors, job.spec.retries, job.spec.discard_exhausted);
        let case = judge.map(|(judge, version)| Case { lane, judge, receipt, version, errors, retries, is_discarded });
        Self { case }
    }

    /// Checks the row. An error has the outcome of the delivery, or `None` if the delivery is no longer current.
    pub(crate) async fn may_start(&self) -> Result<(), Option<Outcome>> {
        use crate::queue::sql::{Judge, Start};
        let Some(Case { lane, judge, receipt, version, errors, .. }) = &self.case else { return Ok(()) };
        match judge.start(&lane.shard, receipt, *version, *errors).await {
            Start::Run => Ok(()),
            Start::Not(outcome) => Err(Some(outcome)),
            Start::Replaced => Err(None),
            Start::Behind(fence) => {
                lane.fence_floor.fetch_max(fence, std::sync::atomic::Ordering::SeqCst);
                Err(Some(Judge::given_back()))
            }
        }
    }

    /// The outcome of a job that has crashed too often. `rescue` leaves this decision to the next attempt, because only the row shows
    /// whether the job was done before its lease expired.
    pub(crate) fn exhausted(&self, job: &Job) -> Option<Outcome> {
        let lane = self.case.as_ref()?.lane;
        let Retries::Limited(retries) = job.spec.retries else { return None };
        let is_over = job.errors > retries || (job.crashes > 0 && job.crashes >= lane.run.crash_max && job.alone);
        let reason = "the job has crashed too often";
        is_over.then(|| match job.spec.discard_exhausted && job.errors > retries {
            true => Outcome::Failed { retry_ms: 0, error: reason.into() },
            false => Outcome::Dead { reason: reason.into() },
        })
    }

    /// Writes the end of an attempt to the row, before the store is updated; returns the outcome for the store.
    pub(crate) async fn ended(&self, outcome: Outcome) -> Outcome {
        let Some(case) = &self.case else { return outcome };
        let Case { judge, receipt, version, .. } = case;
        let replaced = match &outcome {
            Outcome::Done => judge.done(receipt, *version).await,
            Outcome::Failed { retry_ms, error } => case.failed(*retry_ms, error).await,
            Outcome::Dead { reason } => {
                let died = judge.failure(case.errors, ErrorClass::Dead, reason, None);
                judge.died(receipt, *version, &died).await
            }
            Outcome::Snoozed { .. } | Outcome::Released => None,
        };
        replaced.unwrap_or(outcome)
    }
}

/// A job with a row.
#[cfg(feature = "sql")]
struct Case<'a, T> {
    lane: &'a Lane<T>,
    judge: std::sync::Arc<crate::queue::sql::Judge>,
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
        let failed = self.judge.failure(self.errors, ErrorClass::Failed, error, retry_ms);
        if is_last {
            return self.judge.died(&self.receipt, self.version, &failed).await;
        }
        self.judge.failed(&self.receipt, self.version, &failed).await;
        None
    }
}

#[cfg(not(feature = "sql"))]
impl<'a, T> Judged<'a, T> {
    pub(crate) fn of(_lane: &'a Lane<T>, _receipt: Receipt, _job: &Job) -> Self {
        Self { _lane: std::marker::PhantomData }
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
