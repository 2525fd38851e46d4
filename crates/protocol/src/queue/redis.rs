//! The steps as scripts on Redis; docs/spec/queue.md specifies them, `memory/` is their model.

mod bulk;
mod call;
mod grow;
mod look;
mod reply;
pub(crate) mod scripts;
mod senders;

pub use scripts::SCRIPTS;

use super::check;
use super::error::QueueError;
use super::job::JobId;
use super::steps::{
    Amend, Amended, Enqueued, Head, Heartbeat, JobPosition, Kept, Limits, Listed, Looked, NewJob, Preview, Put,
    PutAnswer, PutChange, QueueSteps, Receipt, Redrive, Redriven, Reschedule, Rescheduled, Rescue, Rescued, Revoked,
    SettleAndClaim, Settled, Shard, State, Stats, Tick, Ticked, Worker,
};
use crate::args::Args;
use crate::foreign::Checked;
use async_trait::async_trait;
use bulk::Bulk;
use bytes::Bytes;
use evenkeel_link::support::guard;
use evenkeel_link::{Blocking, Link, Script};
use redis::Value;
use senders::Senders;
use std::time::Duration;

/// The steps on Redis. Cheap to clone.
#[derive(Clone)]
pub struct RedisQueue {
    link: Link,
    senders: Senders,
    bulk: Bulk,
    checked: Checked<Shard>,
}

impl RedisQueue {
    /// The steps over this link.
    #[must_use]
    pub fn new(link: Link) -> Self {
        Self { link, senders: Senders::default(), bulk: Bulk::default(), checked: Checked::default() }
    }

    /// The link of the steps.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// [`QueueSteps::enqueue`] on a dedicated connection, with `wait` (`WAIT`, `WAITAOF`) in the same write. Returns the
    /// results of the jobs and the reply to `wait`.
    pub async fn enqueue_and_wait(
        connection: &mut Blocking,
        shard: &Shard,
        jobs: &[NewJob],
        wait: &redis::Cmd,
        block: Duration,
    ) -> Result<(Vec<Enqueued>, Value), QueueError> {
        check::new_jobs(jobs)?;
        let args = call::enqueue(jobs);
        let tag = shard.tag().as_bytes();
        let (ran, waited) = connection.run_and_wait(&scripts::ENQUEUE, &[tag], &args.slices(), wait, block).await?;
        Ok((reply::enqueue(ran)?, waited))
    }

    async fn enqueue_in_one_call(&self, shard: &Shard, jobs: &[NewJob]) -> Result<Vec<Enqueued>, QueueError> {
        self.check_types(shard).await?;
        reply::enqueue(self.run(&scripts::ENQUEUE, shard, call::enqueue(jobs)).await?)
    }

    /// For the calls that do not check types themselves, once in an epoch: fails if another program has written to the keys of the shard. A
    /// call that meets such a value later may have done a part of its work.
    async fn check_types(&self, shard: &Shard) -> Result<(), QueueError> {
        let check = async {
            self.link.run::<Value>(&scripts::TYPES, &[shard.tag().as_bytes()], &[]).await?;
            Ok(())
        };
        self.checked.once(&self.link, shard, check).await
    }

    async fn run(&self, script: &'static Script, shard: &Shard, args: Args) -> Result<Value, QueueError> {
        if args.len() > bulk::SHARED_BYTES_MAX {
            let size = u64::try_from(args.len()).unwrap_or(u64::MAX);
            return Ok(self.bulk.run(&self.link, script, shard, &args, size).await?);
        }
        Ok(self.link.run(script, &[shard.tag().as_bytes()], &args.slices()).await?)
    }

    async fn set(&self, shard: &Shard, fields: &[(&str, Option<u64>)]) -> Result<(), QueueError> {
        let key = format!("{}:meta", shard.tag());
        let mut cmd = redis::cmd("HSET");
        cmd.arg(&key);
        for (field, value) in fields {
            cmd.arg(*field).arg(value.unwrap_or(reply::FOREVER).min(reply::FOREVER));
        }
        self.link.command(shard.tag().as_bytes(), &cmd).await?;
        Ok(())
    }
}

#[async_trait]
impl QueueSteps for RedisQueue {
    async fn enqueue(&self, shard: &Shard, jobs: &[NewJob]) -> Result<Vec<Enqueued>, QueueError> {
        check::new_jobs(jobs)?;
        match jobs {
            [job] => senders::enqueue(self, shard, job).await.map(|answer| vec![answer]),
            _ => {
                let mut answers = Vec::with_capacity(jobs.len());
                for part in bulk::parts(jobs, |job| job.spec.body.len()) {
                    answers.extend(self.enqueue_in_one_call(shard, part).await?);
                }
                Ok(answers)
            }
        }
    }

    async fn put(&self, shard: &Shard, puts: &[Put]) -> Result<Vec<PutAnswer>, QueueError> {
        check::puts(puts)?;
        let body = |put: &Put| match &put.change {
            PutChange::Job(_, spec) => spec.body.len(),
            PutChange::Restored(restored) => restored.spec.body.len(),
            PutChange::Withdraw(_) => 0,
        };
        let mut answers = Vec::with_capacity(puts.len());
        for part in bulk::parts(puts, body) {
            answers.extend(reply::put(self.run(&scripts::PUT, shard, call::put(part)).await?)?);
        }
        Ok(answers)
    }

    async fn tick(&self, shard: &Shard, tick: &Tick) -> Result<Ticked, QueueError> {
        check::tick(tick)?;
        reply::tick(self.run(&scripts::TICK, shard, call::tick(tick)).await?)
    }

    async fn settle_and_claim(&self, shard: &Shard, call: &SettleAndClaim) -> Result<Settled, QueueError> {
        check::settle_and_claim(call)?;
        self.check_types(shard).await?;
        let reply = self.run(&scripts::SETTLE_AND_CLAIM, shard, call::settle_and_claim(call)).await?;
        reply::settle_and_claim(reply, call.token)
    }

    async fn heartbeat(&self, shard: &Shard, heartbeat: &Heartbeat) -> Result<Vec<bool>, QueueError> {
        check::heartbeat(heartbeat)?;
        self.check_types(shard).await?;
        reply::flags(self.run(&scripts::HEARTBEAT, shard, call::heartbeat(heartbeat)).await?)
    }

    async fn progress(&self, shard: &Shard, receipt: &Receipt, progress: Bytes) -> Result<bool, QueueError> {
        check::progress(&progress)?;
        Ok(reply::count(&self.run(&scripts::PROGRESS, shard, call::progress(receipt, &progress)).await?)? == 1)
    }

    async fn piece(&self, shard: &Shard, id: JobId, from: u64, bytes: u64) -> Result<Bytes, QueueError> {
        check::piece(bytes)?;
        let mut key = format!("{}:job:", shard.tag()).into_bytes();
        key.extend_from_slice(&id.0);
        let last = from.saturating_add(bytes - 1);
        let cmd = redis::cmd("GETRANGE").arg(key).arg(from).arg(last).take();
        Ok(crate::reply::bulk(self.bulk.command(&self.link, &cmd, bytes).await?)?)
    }

    async fn revoke(&self, shard: &Shard, ids: &[JobId]) -> Result<Vec<Revoked>, QueueError> {
        check::items(ids.len())?;
        reply::revoke(self.run(&scripts::REVOKE, shard, call::ids(ids)).await?)
    }

    async fn reschedule(&self, shard: &Shard, changes: &[Reschedule]) -> Result<Vec<Rescheduled>, QueueError> {
        check::reschedules(changes)?;
        reply::reschedule(self.run(&scripts::RESCHEDULE, shard, call::reschedule(changes)).await?)
    }

    async fn amend(&self, shard: &Shard, amend: &Amend) -> Result<Amended, QueueError> {
        look::amend(&self.run(&scripts::AMEND, shard, call::amend(amend)).await?)
    }

    async fn rescue(&self, shard: &Shard, rescue: Rescue) -> Result<Rescued, QueueError> {
        check::items(rescue.limit)?;
        reply::rescue(self.run(&scripts::RESCUE, shard, call::rescue(rescue)).await?)
    }

    async fn redrive(&self, shard: &Shard, redrive: &Redrive) -> Result<Redriven, QueueError> {
        check::redrive(redrive)?;
        reply::redrive(self.run(&scripts::REDRIVE, shard, call::redrive(redrive)).await?)
    }

    async fn forget(&self, shard: &Shard, ids: &[JobId]) -> Result<Vec<bool>, QueueError> {
        check::items(ids.len())?;
        reply::flags(self.run(&scripts::FORGET, shard, call::forget(ids)).await?)
    }

    async fn delete(&self, shard: &Shard, ids: &[JobId]) -> Result<Vec<bool>, QueueError> {
        check::items(ids.len())?;
        reply::flags(self.run(&scripts::DELETE, shard, call::ids(ids)).await?)
    }

    async fn purge(&self, shard: &Shard, state: State, limit: usize) -> Result<u64, QueueError> {
        check::purge(state, limit)?;
        reply::count(&self.run(&scripts::PURGE, shard, call::purge(state, limit)).await?)
    }

    async fn pause(&self, shard: &Shard, until: Option<u64>) -> Result<(), QueueError> {
        self.set(shard, &[("paused", until)]).await
    }

    async fn resume(&self, shard: &Shard) -> Result<(), QueueError> {
        self.run(&scripts::RESUME, shard, Args::default()).await.map(|_| ())
    }

    async fn set_limits(&self, shard: &Shard, limits: Limits) -> Result<(), QueueError> {
        self.set(shard, &[("jobs_max", limits.jobs_max), ("bytes_max", limits.bytes_max)]).await
    }

    async fn jobs(&self, shard: &Shard, ids: &[JobId]) -> Result<Vec<Looked>, QueueError> {
        check::items(ids.len())?;
        bulk::jobs(self, shard, ids).await
    }

    async fn heads(&self, shard: &Shard, ids: &[JobId]) -> Result<Vec<Option<Head>>, QueueError> {
        check::items(ids.len())?;
        if !guard("sql_sweep_heads_only") {
            return Ok(self.jobs(shard, ids).await?.into_iter().map(Head::of).collect());
        }
        reply::heads(self.run(&scripts::HEADS, shard, call::ids(ids)).await?)
    }

    async fn list(
        &self,
        shard: &Shard,
        state: State,
        after: Option<Listed>,
        limit: usize,
    ) -> Result<Vec<Listed>, QueueError> {
        check::list(limit)?;
        reply::list(self.run(&scripts::LIST, shard, call::list(state, false, after, limit)).await?)
    }

    async fn newest(
        &self,
        shard: &Shard,
        state: State,
        before: Option<Listed>,
        limit: usize,
    ) -> Result<Vec<Listed>, QueueError> {
        check::list(limit)?;
        reply::list(self.run(&scripts::LIST, shard, call::list(state, true, before, limit)).await?)
    }

    async fn previews(&self, shard: &Shard, ids: &[JobId], bytes: usize) -> Result<Vec<Option<Preview>>, QueueError> {
        check::previews(ids.len(), bytes)?;
        look::previews(self, shard, ids, bytes).await
    }

    async fn position(&self, shard: &Shard, id: JobId, bytes: usize) -> Result<JobPosition, QueueError> {
        check::previews(1, bytes)?;
        look::position(self.run(&scripts::POSITION, shard, call::position(id, bytes)).await?)
    }

    async fn kept(&self, shard: &Shard, worker: Worker) -> Result<Option<Kept>, QueueError> {
        let key = format!("{}:answers", shard.tag());
        let cmd = redis::cmd("HGET").arg(key).arg(&worker.0).take();
        look::kept(self.link.command(shard.tag().as_bytes(), &cmd).await?)
    }

    async fn stats(&self, shard: &Shard) -> Result<Stats, QueueError> {
        reply::stats(self.run(&scripts::STATS, shard, call::names(&reply::TOTALS)).await?)
    }

    async fn pop_marker(&self, shard: &Shard) -> Result<bool, QueueError> {
        let cmd = redis::cmd("ZPOPMIN").arg(format!("{}:wake", shard.tag())).clone();
        reply::popped(self.link.command(shard.tag().as_bytes(), &cmd).await?)
    }

    async fn sweep_lease(&self, shard: &Shard, caller: &[u8], ms: u64) -> Result<Option<bool>, QueueError> {
        let key = format!("{}:sweep", shard.tag());
        let answer: i64 =
            self.link.run(&scripts::SWEEP, &[key.as_bytes()], &[caller, ms.to_string().as_bytes()]).await?;
        Ok((answer > 0).then_some(answer == 2))
    }
}
