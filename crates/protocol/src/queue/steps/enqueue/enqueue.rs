//! [`Enqueue`]: new jobs.

use super::When;
use crate::queue::job::{End, Job, JobSpec};
use crate::queue::parts::parts;
use crate::queue::senders;
use crate::queue::shard::{Expiring, size};
use crate::queue::steps::prelude::*;
use evenkeel_link::Blocking;
use redis::Cmd;
use std::time::Duration;

/// Enqueues jobs.
#[derive(Clone, Debug)]
pub struct Enqueue(pub Vec<NewJob>);

/// A job to be enqueued.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// Its id.
    pub id: JobId,
    /// When it is due.
    pub when: When,
    /// What the sender requested.
    pub spec: JobSpec,
}

/// The result of one job of an `enqueue`. Only `Created` changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// It was added and waits.
    Created,
    /// A job with this id waits or runs.
    Duplicate,
    /// Another job holds the unique key.
    Taken(JobId),
    /// The job with this id is a dead letter.
    Dead,
    /// The job with this id has ended and has a completion record.
    Ended(End),
    /// The topic's limit of jobs or bytes is reached.
    Full,
    /// The topic has grown, and the id belongs to another shard.
    Elsewhere,
}

impl NewJob {
    /// Checks a job to be enqueued.
    ///
    /// # Errors
    /// [`QueueError::Invalid`].
    pub fn check(&self) -> Checked {
        check::ensure(self.spec.version.is_none(), "a job with a version must be `put`, not enqueued")?;
        self.when.check_given()?;
        check::spec(&self.spec)
    }
}

impl Enqueue {
    /// Sends the jobs on a dedicated connection, with `wait` (`WAIT`, `WAITAOF`) in the same write. Returns the results of the jobs and the
    /// reply to `wait`.
    ///
    /// # Errors
    /// As a step.
    pub async fn send_and_wait(
        &self,
        connection: &mut Blocking,
        shard: &Shard,
        wait: &Cmd,
        block: Duration,
    ) -> Replied<(Vec<Enqueued>, Value)> {
        self.check()?;
        let args = Args::default().new_jobs(&self.0);
        let tag = shard.tag().as_bytes();
        let (ran, waited) = connection.run_and_wait(&scripts::ENQUEUE, &[tag], &args.slices(), wait, block).await?;
        Ok((self.reply(ran)?, waited))
    }

    pub(crate) async fn in_one_call(redis: &Redis<Shard>, shard: &Shard, jobs: &[NewJob]) -> Replied<Vec<Enqueued>> {
        decode(redis.call(shard, call(jobs)).await?)
    }
}

impl Step<Shard> for Enqueue {
    type Reply = Vec<Enqueued>;

    fn check(&self) -> Checked {
        check::items(self.0.len())?;
        self.0.iter().try_for_each(NewJob::check)
    }

    fn call(&self, _: &Shard) -> Call {
        call(&self.0)
    }

    fn reply(&self, value: Value) -> Replied<Vec<Enqueued>> {
        decode(value)
    }

    fn apply(&self, state: &mut ShardState, now: u64) -> Replied<Vec<Enqueued>> {
        let answers = self.0.iter().map(|job| state.enqueue_one(now, job)).collect();
        state.announce(now);
        Ok(answers)
    }

    /// One job is sent together with those of other tasks, and many large ones in several calls.
    async fn send(&self, redis: &Redis<Shard>, shard: &Shard) -> Replied<Vec<Enqueued>> {
        if let [job] = &self.0[..] {
            return senders::enqueue(redis, shard, job).await.map(|answer| vec![answer]);
        }
        let mut answers = Vec::with_capacity(self.0.len());
        for part in parts(&self.0, |job| job.spec.body.len()) {
            answers.extend(Self::in_one_call(redis, shard, part).await?);
        }
        Ok(answers)
    }
}

fn call(jobs: &[NewJob]) -> Call {
    Call::function(&scripts::ENQUEUE, Args::default().new_jobs(jobs)).after(&scripts::TYPES, Args::default())
}

fn decode(reply: Value) -> Replied<Vec<Enqueued>> {
    array(reply)?.into_iter().map(|item| enqueued(&bulk(item)?)).collect()
}

fn enqueued(answer: &[u8]) -> Replied<Enqueued> {
    match answer {
        [1] => Ok(Enqueued::Created),
        [2] => Ok(Enqueued::Duplicate),
        [3, owner @ ..] => Ok(Enqueued::Taken(wire::job_id(owner)?)),
        [4] => Ok(Enqueued::Dead),
        [5, how] => Ok(Enqueued::Ended(wire::end(*how)?)),
        [6] => Ok(Enqueued::Full),
        [7] => Ok(Enqueued::Elsewhere),
        _ => Err(wire::unexpected("enqueue")),
    }
}

impl ShardState {
    fn enqueue_one(&mut self, now: u64, new: &NewJob) -> Enqueued {
        if let Some((_, state, _)) = self.live(new.id) {
            return if state == State::Dead { Enqueued::Dead } else { Enqueued::Duplicate };
        }
        if let Some(completion) = self.completion(new.id, now) {
            return Enqueued::Ended(completion.end);
        }
        if self.elsewhere(new.id).is_some()
            || (new.spec.unique.is_some() && self.shards.is_some_and(|shards| shards > 1))
        {
            return Enqueued::Elsewhere;
        }
        if let Some(unique) = new.spec.unique
            && let Some((until, owner)) = self.unique.get(&unique.key)
            && *until > now
        {
            return Enqueued::Taken(*owner);
        }
        let due = new.when.at(now).max(now);
        let job = Box::new(Job::accepted(new.spec.clone(), now, due));
        let bytes = size(&job);
        if self.limits.jobs_max.is_some_and(|jobs_max| self.working() >= jobs_max)
            || self.limits.bytes_max.is_some_and(|bytes_max| self.bytes + bytes > bytes_max)
        {
            return Enqueued::Full;
        }
        if let Some(unique) = new.spec.unique {
            self.unique.insert(unique.key, (now + unique.window_ms, new.id));
            self.expiries.insert((now + unique.window_ms, Expiring::Unique(unique.key)));
        }
        self.wait(new.id, job, due);
        self.totals.created += 1;
        Enqueued::Created
    }
}
