//! A delivery and the row that judges its job, if there is one (`Durability::Sql`).

use crate::queue::consume::shard::Lane;
#[cfg(feature = "sql")]
use bytes::Bytes;
use evenkeel_protocol::queue::job::Job;
#[cfg(feature = "sql")]
use evenkeel_protocol::queue::job::{ErrorClass, Retries};
use evenkeel_protocol::queue::steps::{Outcome, Receipt};

/// One delivery before its judge. Without one everything may run.
pub(crate) struct Judged<'a, T> {
    #[cfg(feature = "sql")]
    case: Option<Case<'a, T>>,
    #[cfg(not(feature = "sql"))]
    _lane: std::marker::PhantomData<&'a Lane<T>>,
}

#[cfg(feature = "sql")]
impl<'a, T> Judged<'a, T> {
    /// Jobs without a version came in past the rows: the ticks of a schedule, or under another durability.
    pub(crate) fn of(lane: &'a Lane<T>, receipt: Receipt, job: &Job) -> Self {
        let judge = lane.run.core.judge.clone().zip(job.spec.version);
        let (errors, retries, is_discarded) = (job.errors, job.spec.retries, job.spec.discard_exhausted);
        let case = judge.map(|(judge, version)| Case { lane, judge, receipt, version, errors, retries, is_discarded });
        Self { case }
    }

    /// Asks the row. If it says no: what the delivery ends with, or nothing if it is not current any more.
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

    /// What a job ends with that has crashed too often. `rescue` leaves that to its next begin, because only the row knows whether it was
    /// done when its worker fell silent.
    pub(crate) fn buried(&self, job: &Job) -> Option<Outcome> {
        let lane = self.case.as_ref()?.lane;
        let Retries::Limited(retries) = job.spec.retries else { return None };
        let is_over = job.errors > retries || (job.crashes > 0 && job.crashes >= lane.run.crash_max && job.alone);
        let words = "it crashed once too often";
        is_over.then(|| match job.spec.discard_exhausted && job.errors > retries {
            true => Outcome::Failed { retry_ms: 0, error: words.into() },
            false => Outcome::Dead { reason: words.into() },
        })
    }

    /// Tells the row of an end before the store hears of it, and says what the store shall hear.
    pub(crate) async fn ended(&self, outcome: Outcome) -> Outcome {
        let Some(case) = &self.case else { return outcome };
        let Case { judge, receipt, version, .. } = case;
        let told = match &outcome {
            Outcome::Done => judge.done(receipt, *version).await,
            Outcome::Failed { retry_ms, error } => case.failed(*retry_ms, error).await,
            Outcome::Dead { reason } => {
                let died = judge.failure(case.errors, ErrorClass::Dead, reason, None);
                judge.died(receipt, *version, &died).await
            }
            Outcome::Snoozed { .. } | Outcome::Released => None,
        };
        told.unwrap_or(outcome)
    }
}

/// A job with a row.
#[cfg(feature = "sql")]
struct Case<'a, T> {
    lane: &'a Lane<T>,
    judge: std::sync::Arc<crate::queue::sql::Judge>,
    receipt: Receipt,
    version: u64,
    /// Before this attempt.
    errors: u16,
    retries: Retries,
    is_discarded: bool,
}

#[cfg(feature = "sql")]
impl<T> Case<'_, T> {
    /// Whether it is the last attempt is what the store will find, too.
    async fn failed(&self, retry_ms: u64, error: &Bytes) -> Option<Outcome> {
        let is_last = matches!(self.retries, Retries::Limited(retries) if self.errors.saturating_add(1) > retries);
        if is_last && self.is_discarded {
            // The store ends it, and the sweep its row.
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

    pub(crate) fn buried(&self, _job: &Job) -> Option<Outcome> {
        None
    }

    pub(crate) async fn ended(&self, outcome: Outcome) -> Outcome {
        std::future::ready(outcome).await
    }
}
