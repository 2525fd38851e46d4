//! Jobs that a unit of work sends: idempotent upserts by version, which may be repeated at any time.

use super::builder::JobBuilder;
use crate::queue::queue::Queue;
use crate::queue::sharding::router::Router;
use crate::queue::store::QueueStore;
use bytes::Bytes;
use evenkeel_link::support::{guard, ms};
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::{Job, JobId, JobSpec, Retention, TIME_MS_MAX};
use evenkeel_protocol::queue::record::encode_job;
use evenkeel_protocol::queue::steps::{Put, PutChange, When};

/// The change of one job that follows the commit of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobPut {
    pub(crate) topic: String,
    /// The number of shards when the unit of work recorded the change; the topic may have grown since.
    pub(crate) shards: u16,
    pub(crate) id: JobId,
    /// The newest version wins. 0: the unit of work assigns it at its commit.
    pub(crate) version: u64,
    pub(crate) operation: JobOperation,
    /// Rows decide about the queue's jobs (`Durability::Sql`): the unit of work writes the row of this one.
    pub(crate) row_decides: bool,
}

/// The change that a [`JobPut`] makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JobOperation {
    /// The job is to run at its due time.
    Run {
        /// In ms of the server's clock.
        due_at: u64,
        /// The job as its sender specified it.
        spec: Box<JobSpec>,
    },
    /// The job is not to run.
    Withdraw(Retention),
}

/// The due time of a job for a call that may be repeated. A time in the past means now. The longest delay ends after the latest due time that the store accepts, and counts
/// until that one.
pub(crate) fn due_at(when: When, now_ms: u64) -> u64 {
    match when {
        When::At(due) => due.max(now_ms),
        When::In(delay) if guard("queue_latest_due_time") => now_ms.saturating_add(delay).min(TIME_MS_MAX / 4),
        When::In(delay) => now_ms.saturating_add(delay),
    }
}

/// Encodes a job that the store has not accepted yet.
pub(crate) fn job_record(spec: &JobSpec, version: u64) -> Bytes {
    encode_job(&Job::accepted(JobSpec { version: Some(version), ..spec.clone() }, 0, 0))
}

impl<T: Send + Sync + 'static> JobBuilder<'_, T> {
    /// Converts the job into an upsert. A job with a generated id is always new, so its version is 1; a job with a caller's id gets the
    /// next version of that id at the commit.
    pub(crate) fn into_put(self) -> Result<JobPut, QueueError> {
        let queue = self.queue();
        let is_named = self.id.is_some();
        if self.unique.is_some() {
            return Err(QueueError::Invalid(format!(
                "a job of a unit of work cannot have a unique key, because its newest version wins; give the job for {} an id \
                 instead",
                queue.name()
            )));
        }
        let job = self.into_job(queue)?;
        let core = queue.core();
        // The due time is fixed now, so that a repeated effect does not move it.
        let due_at = due_at(job.when, core.store.now_ms());
        let spec = JobSpec { retention: Retention::AfterEnd(ms(core.settings.id_window)), ..job.spec };
        Ok(JobPut {
            topic: queue.name().to_owned(),
            shards: core.router.shards().count(),
            id: job.id,
            version: u64::from(!is_named),
            operation: JobOperation::Run { due_at, spec: Box::new(spec) },
            row_decides: queue.has_rows(),
        })
    }
}

impl<T: Send + Sync + 'static> Queue<T> {
    /// Whether its jobs are in this store.
    pub(crate) fn is_in(&self, store: &QueueStore) -> bool {
        self.core().store.is_same(store)
    }

    /// The withdrawal of a job, by version.
    pub(crate) fn withdrawal(&self, id: JobId) -> JobPut {
        let core = self.core();
        JobPut {
            topic: self.name().to_owned(),
            shards: core.router.shards().count(),
            id,
            version: 0,
            operation: JobOperation::Withdraw(Retention::AfterEnd(ms(core.settings.id_window))),
            row_decides: self.has_rows(),
        }
    }
}

impl QueueStore {
    /// Applies the job changes of a unit of work. Idempotent: a newer version that is there already stays. Each topic is tried,
    /// whichever others fail; the error is that of the first.
    pub(crate) async fn put_all(&self, puts: &[JobPut]) -> Result<(), QueueError> {
        let mut left: Vec<&JobPut> = puts.iter().collect();
        let mut outcome = Ok(());
        while let Some(first) = left.first() {
            let (topic, count) = (first.topic.clone(), first.shards);
            let (of_topic, rest): (Vec<&JobPut>, Vec<&JobPut>) =
                left.into_iter().partition(|put| put.topic == topic && put.shards == count);
            let router = Router::assume(self, &topic, count);
            let put = router.put(&of_topic.into_iter().map(as_step).collect::<Vec<Put>>()).await.map(drop);
            outcome = outcome.and(put);
            left = rest;
        }
        outcome
    }
}

pub(crate) fn as_step(put: &JobPut) -> Put {
    let change = match &put.operation {
        JobOperation::Run { due_at, spec } => PutChange::Job(When::At(*due_at), spec.clone()),
        JobOperation::Withdraw(retention) => PutChange::Withdraw(*retention),
    };
    Put { id: put.id, version: put.version.max(1), change }
}
