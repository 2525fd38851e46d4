//! [`Judge`]: what a queue with `Durability::Sql` asks its table.

use super::metrics::JudgeMetrics;
use super::table::{JobRow, JobTable};
use crate::queue::sending::for_work::{JobPut, JobWish};
use crate::queue::sharding::router::Router;
use crate::queue::store::QueueStore;
use crate::sql::SqlError;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{crash_point, guard};
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::{End, FORGET_MS, Job, JobId, Keep, Stamp};
use evenkeel_protocol::queue::record::{Record, decode_error};
use evenkeel_protocol::queue::retry_delay::ms;
use evenkeel_protocol::queue::steps::{Enqueued, Found, NewJob, Put, PutChange, Restored, State, When};
use std::sync::Arc;
use std::time::Duration;

/// What one statement may take.
pub(super) const DEADLINE: Duration = Duration::from_secs(30);

/// The rows of one queue, and the store that wakes its jobs.
pub(crate) struct Judge {
    pub(super) table: Arc<dyn JobTable>,
    pub(super) topic: Arc<str>,
    pub(super) store: QueueStore,
    pub(super) router: Arc<Router>,
    /// Jobs that are due later than this from now need not be in the store yet.
    pub(super) horizon: Option<Duration>,
    pub(super) metrics: JudgeMetrics,
}

impl Judge {
    pub(crate) fn new(
        table: Arc<dyn JobTable>,
        topic: Arc<str>,
        store: QueueStore,
        router: Arc<Router>,
        horizon: Option<Duration>,
    ) -> Self {
        let metrics = JudgeMetrics::register(&topic);
        Self { table, topic, store, router, horizon, metrics }
    }

    /// Takes jobs in: first their rows, which accept them, then the store. What does not get there is put there by the sweep.
    pub(crate) async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<Enqueued>, QueueError> {
        let now = self.store.now_ms();
        let mut puts = jobs.iter().map(|job| self.put_of(job, now)).collect::<Result<Vec<_>, _>>()?;
        let held = self.ask(self.table.insert(&mut puts)).await?;
        crash_point("job_row_written");
        let until = self.horizon_ms(now);
        let fresh = puts.iter().zip(&held).filter(|(_, held)| held.is_none()).map(|(put, _)| put);
        let near: Vec<Put> = fresh.filter_map(|put| step_of(put, until)).collect();
        if !near.is_empty()
            && let Err(error) = self.router.put(&near).await
        {
            tracing::warn!(queue = %self.topic, %error, "jobs were accepted and are not in the store yet; the sweep puts them there");
        }
        Ok(held.iter().map(answer).collect())
    }

    /// What is known of a job, given what the store says of it: the store alone knows where a job of the row's version is and what went
    /// wrong with it; otherwise the row's word counts.
    pub(crate) async fn find(&self, id: JobId, in_store: Option<Found>) -> Result<Option<Found>, QueueError> {
        let Some(row) = self.ask(self.table.row(&self.topic, id)).await? else { return Ok(in_store) };
        if !row.is_live {
            let stamp =
                Stamp { end: row.ended_as.unwrap_or(End::Done), until: None, version: row.version, ended_at: 0 };
            // The store knows when, if it is the same end.
            if let Some(Found::Ended(held)) = &in_store
                && (held.end, held.version) == (stamp.end, stamp.version)
            {
                return Ok(in_store);
            }
            return Ok(Some(Found::Ended(stamp)));
        }
        if let Some(Found::Live { state, job, .. }) = &in_store
            && job.spec.version == Some(row.version)
        {
            // Of a death and of the end of one, the row knows first.
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

    /// The database, with a deadline.
    pub(super) async fn ask<T>(&self, question: impl Future<Output = Result<T, SqlError>>) -> Result<T, QueueError> {
        match Clock::system().timeout(DEADLINE, question).await {
            Ok(answer) => answer.map_err(|error| QueueError::Database {
                reason: error.to_string(),
                is_retryable: error.is_retryable(),
            }),
            Err(_) => Err(QueueError::Database {
                reason: "the database did not answer in 30 s; whether it has done it, nobody knows".to_owned(),
                is_retryable: true,
            }),
        }
    }

    /// Until when jobs belong into the store.
    pub(super) fn horizon_ms(&self, now: u64) -> u64 {
        self.horizon.map_or(i64::MAX.unsigned_abs(), |horizon| now.saturating_add(ms(horizon)))
    }

    /// The job as it was sent.
    pub(super) fn job_of(&self, row: &JobRow) -> Result<Job, QueueError> {
        match Record::decode(&row.record)? {
            Record::Live(job) => Ok(*job),
            Record::Ended(_) => Err(QueueError::Invalid("the row of a job holds the stamp of an ended one".to_owned())),
        }
    }

    /// The job of a row as the store takes it, with what has gone wrong with it so far.
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
        if job.spec.unique.is_some() {
            return Err(QueueError::Invalid(format!(
                "a job of {} cannot have a unique key beside its id: its row is found by its id alone; give the job an id instead",
                self.topic
            )));
        }
        let due_at = match job.when {
            When::At(due) => due,
            When::In(delay) => now.saturating_add(delay),
        };
        let mut spec = job.spec.clone();
        // Nobody sends a generated id again, but the sweep must be able to tell an end from a loss.
        let is_named = spec.keep != Keep::Nothing;
        if !is_named {
            spec.keep = Keep::AfterEnd(FORGET_MS);
        }
        spec.version = Some(u64::from(!is_named));
        Ok(JobPut {
            topic: self.topic.to_string(),
            shards: self.router.shards().count(),
            id: job.id,
            version: spec.version.unwrap_or(0),
            wish: JobWish::Run { due_at, spec: Box::new(spec) },
            is_judged: true,
        })
    }
}

/// A job with the errors that its row knows of.
fn with_past(row: &JobRow, mut job: Job) -> Result<Job, QueueError> {
    job.errors = row.errors;
    if !row.failure.is_empty() {
        job.spec.notes.push(decode_error(row.failure.clone())?);
    }
    Ok(job)
}

/// What was there before a job was sent, as its sender is told.
fn answer(held: &Option<JobRow>) -> Enqueued {
    match held {
        None => Enqueued::Created,
        Some(row) if row.is_live => Enqueued::Duplicate,
        Some(row) => Enqueued::Ended(row.ended_as.unwrap_or(End::Done)),
    }
}

/// A new job as the store takes it; nothing if it is due later than the store needs to know.
fn step_of(put: &JobPut, until: u64) -> Option<Put> {
    match &put.wish {
        JobWish::Run { due_at, .. } if *due_at >= until && guard("sql_horizon") => None,
        JobWish::Run { due_at, spec } => {
            let change = PutChange::Job(When::At(*due_at), spec.clone());
            Some(Put { id: put.id, version: put.version.max(1), change })
        }
        JobWish::Withdraw(keep) => {
            Some(Put { id: put.id, version: put.version.max(1), change: PutChange::Withdraw(*keep) })
        }
    }
}
