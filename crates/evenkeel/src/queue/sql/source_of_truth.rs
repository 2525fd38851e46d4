//! [`JobRows`]: the source of truth of a queue with `Durability::Sql`: the rows of its jobs decide.

use super::metrics::RowMetrics;
use super::table::{JobRow, JobTable};
use crate::queue::sending::for_work::{JobOperation, JobPut, as_step, due_at};
use crate::queue::sharding::router::Router;
use crate::queue::store::QueueStore;
use crate::sql::SqlError;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{Recurring, crash_point, guard, ms};
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::{CompletionRecord, End, FORGET_MS, Job, JobId, Retention};
use evenkeel_protocol::queue::record::{Record, decode_error};
use evenkeel_protocol::queue::steps::{Enqueued, Found, NewJob, Put, PutChange, Restored, State, When};
use std::sync::Arc;
use std::time::Duration;

/// The deadline of one statement.
pub(super) const DEADLINE: Duration = Duration::from_secs(30);

/// The rows of one queue, which decide about its jobs, and the store that delivers them.
pub(crate) struct JobRows {
    pub(super) table: Arc<dyn JobTable>,
    pub(super) topic: Arc<str>,
    pub(super) store: QueueStore,
    pub(super) router: Arc<Router>,
    /// Jobs that are due later than this from now exist only as rows.
    pub(super) horizon: Option<Duration>,
    pub(super) metrics: RowMetrics,
    /// The failures that were logged.
    pub(super) failing: Recurring,
}

impl JobRows {
    pub(crate) fn new(
        table: Arc<dyn JobTable>,
        topic: Arc<str>,
        store: QueueStore,
        router: Arc<Router>,
        horizon: Option<Duration>,
    ) -> Self {
        let metrics = RowMetrics::register(&topic);
        Self { table, topic, store, router, horizon, metrics, failing: Recurring::default() }
    }

    /// Accepts jobs by writing their rows, and then puts them into the store. The sweep puts those that fail there.
    pub(crate) async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<Enqueued>, QueueError> {
        let now = self.store.now_ms();
        let mut puts = jobs.iter().map(|job| self.put_of(job, now)).collect::<Result<Vec<_>, _>>()?;
        let held = self.ask(self.table.insert(&mut puts)).await?;
        crash_point("job_row_written");
        let until = self.horizon_ms(now);
        let created = puts.iter().zip(&held).filter(|(_, held)| held.is_none()).map(|(put, _)| put);
        let within_horizon: Vec<Put> = created.filter(|put| !is_beyond(put, until)).map(as_step).collect();
        if !within_horizon.is_empty() {
            self.failing.log("put", &self.router.put(&within_horizon).await, |error, times| {
                tracing::warn!(queue = %self.topic, %error, times, "accepted jobs could not be put into the store; the sweep will do so");
            });
        }
        Ok(held.iter().map(answer).collect())
    }

    /// Everything known about a job, given its state in the store. For a job of the row's version only the store has its state and its
    /// history; otherwise the row decides.
    pub(crate) async fn find(&self, id: JobId, in_store: Option<Found>) -> Result<Option<Found>, QueueError> {
        let Some(row) = self.ask(self.table.row(&self.topic, id)).await? else { return Ok(in_store) };
        if !row.is_live {
            let completion = CompletionRecord {
                end: row.ended_as.unwrap_or(End::Done),
                until: None,
                version: row.version,
                ended_at: 0,
            };
            // The completion record in the store also has the time, if it is of the same end.
            if let Some(Found::Ended(held)) = &in_store
                && (held.end, held.version) == (completion.end, completion.version)
            {
                return Ok(in_store);
            }
            return Ok(Some(Found::Ended(completion)));
        }
        if let Some(Found::Live { state, job, .. }) = &in_store
            && job.spec.version == Some(row.version)
        {
            // The row records the death of a job, and its redrive, before the store does.
            let is_dead = *state == State::Dead;
            let is_behind = if is_dead { row.is_redriven } else { row.is_dead };
            if !is_behind {
                return Ok(in_store);
            }
        }
        let job = with_past(&row, self.job_of(&row)?)?;
        let state = if row.is_dead { State::Dead } else { State::Waiting(job.spec.priority) };
        Ok(Some(Found::Live { state, score: row.due_at, job: Box::new(job) }))
    }

    /// Awaits a call of the database, with a deadline.
    pub(super) async fn ask<T>(&self, question: impl Future<Output = Result<T, SqlError>>) -> Result<T, QueueError> {
        match Clock::system().timeout(DEADLINE, question).await {
            Ok(answer) => answer.map_err(|error| QueueError::Database {
                reason: error.to_string(),
                is_retryable: error.is_retryable(),
            }),
            Err(_) => Err(QueueError::Database {
                reason: "the database did not answer within 30 s; the statement may have been executed".to_owned(),
                is_retryable: true,
            }),
        }
    }

    /// The due time before which jobs belong in the store.
    pub(super) fn horizon_ms(&self, now: u64) -> u64 {
        self.horizon.map_or(i64::MAX.unsigned_abs(), |horizon| now.saturating_add(ms(horizon)))
    }

    /// Decodes the job as it was sent.
    pub(super) fn job_of(&self, row: &JobRow) -> Result<Job, QueueError> {
        match Record::decode(&row.record)? {
            Record::Live(job) => Ok(*job),
            Record::Ended(_) => Err(QueueError::Invalid("the row of a live job holds a completion record".to_owned())),
        }
    }

    /// The job of a row for the store, with its errors so far.
    pub(super) fn put_of_row(&self, id: JobId, row: &JobRow) -> Result<Put, QueueError> {
        let job = with_past(row, self.job_of(row)?)?;
        let has_past = row.is_dead || row.errors > 0 || !row.failure.is_empty();
        let change = if has_past && guard("sql_past_restored") {
            let is_dead = row.is_dead && guard("sql_death_restored");
            PutChange::Restored(Box::new(Restored { spec: job.spec, errors: row.errors, is_dead, at: row.due_at }))
        } else {
            PutChange::Job(When::At(row.due_at), Box::new(job.spec))
        };
        Ok(Put { id, version: row.version.max(1), change })
    }

    fn put_of(&self, job: &NewJob, now: u64) -> Result<JobPut, QueueError> {
        // A row must not accept a job that the store would always reject.
        job.check()?;
        if job.spec.unique.is_some() {
            return Err(QueueError::Invalid(format!(
                "a job of {} cannot have a unique key in addition to its id, because rows are found by id; use an id instead",
                self.topic
            )));
        }
        let due_at = due_at(job.when, now);
        let mut spec = job.spec.clone();
        // A generated id needs no deduplication, but the sweep must distinguish an ended job from a lost one.
        let is_named = spec.retention != Retention::Nothing;
        if !is_named {
            spec.retention = Retention::AfterEnd(FORGET_MS);
        }
        spec.version = Some(u64::from(!is_named));
        Ok(JobPut {
            topic: self.topic.to_string(),
            shards: self.router.shards().count(),
            id: job.id,
            version: spec.version.unwrap_or(0),
            operation: JobOperation::Run { due_at, spec: Box::new(spec) },
            row_decides: true,
        })
    }
}

/// Adds the errors in a row to its job.
fn with_past(row: &JobRow, mut job: Job) -> Result<Job, QueueError> {
    job.errors = row.errors;
    if !row.failure.is_empty() {
        job.spec.notes.push(decode_error(row.failure.clone())?);
    }
    Ok(job)
}

/// The result for the sender of a job, from the row that existed before.
fn answer(held: &Option<JobRow>) -> Enqueued {
    match held {
        None => Enqueued::Created,
        Some(row) if row.is_live => Enqueued::Duplicate,
        Some(row) => Enqueued::Ended(row.ended_as.unwrap_or(End::Done)),
    }
}

/// Whether a new job is due beyond the horizon.
fn is_beyond(put: &JobPut, until: u64) -> bool {
    matches!(put.operation, JobOperation::Run { due_at, .. } if due_at >= until) && guard("sql_horizon")
}
