//! [`Puts`]: jobs that are upserted by version.

use super::When;
use crate::queue::job::{CompletionRecord, End, Job, JobSpec, Retention};
use crate::queue::parts::parts;
use crate::queue::record::encode_job;
use crate::queue::shard::retain_until;
use crate::queue::steps::prelude::*;

/// Upserts jobs by version.
#[derive(Clone, Debug)]
pub struct Puts(pub Vec<Put>);

/// A versioned upsert from a unit of work.
#[derive(Clone, Debug)]
pub struct Put {
    /// The job's id.
    pub id: JobId,
    /// Above the stored version the change is applied, at it nothing changes, below it the change is rejected. At least 1.
    pub version: u64,
    /// The change.
    pub change: PutChange,
}

/// The change of a `put`.
#[derive(Clone, Debug)]
pub enum PutChange {
    /// Creates or replaces the job (which cannot have a unique key).
    Job(When, Box<JobSpec>),
    /// Restores the job from SQL, with its errors from before the store lost it.
    Restored(Box<Restored>),
    /// Withdraws the job; the version is kept by this rule.
    Withdraw(Retention),
}

/// A job that is restored with its history.
#[derive(Clone, Debug)]
pub struct Restored {
    /// The job, with its error history.
    pub spec: JobSpec,
    /// The number of its failed attempts.
    pub errors: u16,
    /// Whether it is a dead letter.
    pub is_dead: bool,
    /// When it is due, or when it died.
    pub at: u64,
}

/// The result of a `put`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutAnswer {
    /// The version is stored (also the reply to a repeated call).
    Applied,
    /// A newer version is stored.
    Superseded,
    /// The topic has grown, and the id belongs to another shard: nothing changed.
    Elsewhere,
}

impl Put {
    fn check(&self) -> Checked {
        const NO_KEY: &str = "a `put` is identified by its id and version; it cannot have a unique key";
        check::ensure(
            self.version > 0,
            "the version of a `put` must be at least 1; 0 is the version of enqueued jobs",
        )?;
        match &self.change {
            PutChange::Withdraw(retention) => check::window(*retention),
            PutChange::Job(when, job) => {
                check::ensure(job.unique.is_none(), NO_KEY)?;
                when.check()?;
                check::spec(job)
            }
            PutChange::Restored(restored) => {
                check::ensure(restored.spec.unique.is_none(), NO_KEY)?;
                check::span(restored.at)?;
                check::spec(&restored.spec)
            }
        }
    }

    fn body_bytes(&self) -> usize {
        match &self.change {
            PutChange::Job(_, spec) => spec.body.len(),
            PutChange::Restored(restored) => restored.spec.body.len(),
            PutChange::Withdraw(_) => 0,
        }
    }

    fn add_to(&self, args: Args) -> Args {
        let args = args.bytes(self.id.0).bytes(self.version.to_be_bytes());
        match &self.change {
            PutChange::Job(when, spec) => {
                args.when(*when).bytes(wire::record(JobSpec { version: Some(self.version), ..(**spec).clone() }))
            }
            PutChange::Restored(restored) => {
                let Restored { spec, errors, is_dead, at } = &**restored;
                let spec = JobSpec { version: Some(self.version), ..spec.clone() };
                let record = encode_job(&Job { errors: *errors, ..Job::accepted(spec, 0, 0) });
                let args = if *is_dead { args.bytes(format!("!{at}")) } else { args.when(When::At(*at)) };
                args.bytes(record)
            }
            PutChange::Withdraw(retention) => {
                let (rule, window) = retention.rule();
                args.bytes("").bytes([&[rule], &window.to_be_bytes()[2..]].concat())
            }
        }
    }
}

impl Step<Shard> for Puts {
    type Reply = Vec<PutAnswer>;

    fn check(&self) -> Checked {
        check::items(self.0.len())?;
        self.0.iter().try_for_each(Put::check)
    }

    fn call(&self, _: &Shard) -> Call {
        call(&self.0)
    }

    fn reply(&self, value: Value) -> Replied<Vec<PutAnswer>> {
        let answers = [PutAnswer::Superseded, PutAnswer::Applied, PutAnswer::Elsewhere];
        array(value)?.into_iter().map(|item| wire::coded(&answers, unsigned(&item)?, "put")).collect()
    }

    fn apply(&self, state: &mut ShardState, now: u64) -> Replied<Vec<PutAnswer>> {
        let answers = self.0.iter().map(|put| state.put_one(now, put)).collect();
        state.announce(now);
        Ok(answers)
    }

    /// Many large ones are sent in several calls.
    async fn send(&self, redis: &Redis<Shard>, shard: &Shard) -> Replied<Vec<PutAnswer>> {
        let mut answers = Vec::with_capacity(self.0.len());
        for part in parts(&self.0, Put::body_bytes) {
            answers.extend(self.reply(redis.call(shard, call(part)).await?)?);
        }
        Ok(answers)
    }
}

fn call(puts: &[Put]) -> Call {
    Call::function(&scripts::PUT, puts.iter().fold(Args::default(), |args, put| put.add_to(args)))
}

impl ShardState {
    fn put_one(&mut self, now: u64, put: &Put) -> PutAnswer {
        let live = self.live(put.id).map(|(job, _, _)| job.spec.version.unwrap_or(0));
        match live.or_else(|| self.completion(put.id, now).map(|completion| completion.version)) {
            Some(stored) if put.version < stored => return PutAnswer::Superseded,
            Some(stored) if put.version == stored => return PutAnswer::Applied,
            None if self.elsewhere(put.id).is_some() => return PutAnswer::Elsewhere,
            _ => {}
        }
        let earlier = self.take(put.id);
        if let Some(earlier) = &earlier {
            self.free_unique(put.id, earlier);
        }
        // A worker may still run the older version: later fencing tokens stay above its token, and a later revocation reports it.
        let lease_expired = earlier.as_ref().is_some_and(|job| job.lease_expired || job.token.is_some());
        let accepted = |spec: &JobSpec, errors, at| {
            let spec = JobSpec { version: Some(put.version), ..spec.clone() };
            let fence = earlier.as_ref().map_or(0, |job| job.fence);
            Box::new(Job { lease_expired, fence, errors, ..Job::accepted(spec, now, at) })
        };
        match &put.change {
            PutChange::Job(when, spec) => {
                let due = when.at(now);
                self.wait(put.id, accepted(spec, 0, due), due);
                self.totals.created += 1;
            }
            PutChange::Restored(restored) => {
                let job = accepted(&restored.spec, restored.errors, restored.at);
                if restored.is_dead && guard("model_put_restores_dead") {
                    self.place(put.id, job, State::Dead, restored.at);
                } else {
                    self.wait(put.id, job, restored.at);
                }
                self.totals.created += 1;
            }
            PutChange::Withdraw(retention) => {
                let end = if lease_expired { End::RevokedAfterLeaseExpiry } else { End::Revoked };
                let until = retain_until(*retention, end, now, now);
                self.record_completion(put.id, CompletionRecord { end, until, version: put.version, ended_at: now });
                self.totals.revoked += 1;
            }
        }
        PutAnswer::Applied
    }
}
