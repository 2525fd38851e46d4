//! A delivery and the row that judges its job, if there is one (`Durability::Sql`).

use super::lane::Lane;
use crate::queue::job::Job;
#[cfg(feature = "sql")]
use crate::queue::job::Retries;
use crate::queue::steps::{Outcome, Receipt};

/// One delivery before its judge. Without one everything may run.
pub(super) struct Judged<'a, T> {
    #[cfg(feature = "sql")]
    case: Option<(&'a Lane<T>, std::sync::Arc<crate::queue::sql::Judge>, Receipt, u64)>,
    #[cfg(not(feature = "sql"))]
    _lane: std::marker::PhantomData<&'a Lane<T>>,
}

#[cfg(feature = "sql")]
impl<'a, T> Judged<'a, T> {
    /// Jobs without a version came in past the rows: the ticks of a schedule, or under another durability.
    pub(super) fn of(lane: &'a Lane<T>, receipt: Receipt, job: &Job) -> Self {
        let judge = lane.run.core.judge.clone();
        let case = judge.zip(job.spec.version).map(|(judge, version)| (lane, judge, receipt, version));
        Self { case }
    }

    /// Asks the row. If it says no: what the delivery ends with, or nothing if it is not current any more.
    pub(super) async fn may_start(&self) -> Result<(), Option<Outcome>> {
        use crate::queue::sql::{Judge, Start};
        let Some((lane, judge, receipt, version)) = &self.case else { return Ok(()) };
        match judge.start(&lane.shard, receipt, *version).await {
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
    pub(super) fn buried(&self, job: &Job) -> Option<Outcome> {
        let (lane, ..) = self.case.as_ref()?;
        let Retries::Limited(retries) = job.spec.retries else { return None };
        let is_over = job.errors > retries || (job.crashes > 0 && job.crashes >= lane.run.crash_max && job.alone);
        let words = "it crashed once too often";
        is_over.then(|| match job.spec.discard_exhausted && job.errors > retries {
            true => Outcome::Failed { retry_ms: 0, error: words.into() },
            false => Outcome::Dead { reason: words.into() },
        })
    }

    /// Tells the row of an end before the store hears of it, and says what the store shall hear.
    pub(super) async fn ended(&self, outcome: Outcome) -> Outcome {
        match (&self.case, &outcome) {
            (Some((_, judge, receipt, version)), Outcome::Done) => {
                judge.done(receipt, *version).await.unwrap_or(outcome)
            }
            _ => outcome,
        }
    }
}

#[cfg(not(feature = "sql"))]
impl<'a, T> Judged<'a, T> {
    pub(super) fn of(_lane: &'a Lane<T>, _receipt: Receipt, _job: &Job) -> Self {
        Self { _lane: std::marker::PhantomData }
    }

    pub(super) async fn may_start(&self) -> Result<(), Option<Outcome>> {
        std::future::ready(Ok(())).await
    }

    pub(super) fn buried(&self, _job: &Job) -> Option<Outcome> {
        None
    }

    pub(super) async fn ended(&self, outcome: Outcome) -> Outcome {
        std::future::ready(outcome).await
    }
}
