//! A call with all its arguments, so that it can be made on either backend, and what it answered.

use crate::conformance::queue::rig::Rig;
use anyhow::Result;
use evenkeel::queue::JobId;
use evenkeel_protocol::queue::steps::{
    Amend, Enqueued, Fate, Heartbeat, Limits, Listed, NewJob, Put, QueueSteps, Redrive, RedriveVerdict, Reschedule,
    Rescheduled, Rescue, Revoked, SettleAndClaim, Settled, State, Tick, Ticked, Worker,
};
use std::fmt::Debug;

/// One call, or an event that happens to both.
#[derive(Clone, Debug)]
pub(super) enum Call {
    Advance(u64),
    SetBack(u64),
    Enqueue(Vec<NewJob>),
    Put(Vec<Put>),
    Tick(Tick),
    Settle(SettleAndClaim),
    Heartbeat(Heartbeat),
    Revoke(Vec<JobId>),
    Reschedule(Vec<Reschedule>),
    Rescue(Rescue),
    Redrive(Redrive),
    Forget(Vec<JobId>),
    Delete(Vec<JobId>),
    Purge(State, usize),
    Pause(Option<u64>),
    Resume,
    SetLimits(Limits),
    Job(JobId),
    List(State, Option<Listed>, usize),
    Newest(State, Option<Listed>, usize),
    Amend(Amend),
    Previews(Vec<JobId>, usize),
    JobPosition(JobId, usize),
    Kept(Worker),
    Stats,
    PopMarker,
}

/// The reply of a call: as text, to compare, and what the ledger needs of it.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) enqueued: Vec<Enqueued>,
    pub(super) settled: Option<Settled>,
    pub(super) held: Vec<bool>,
    pub(super) revoked: Vec<Revoked>,
    pub(super) rescheduled: Vec<Rescheduled>,
    pub(super) rescued: Vec<(JobId, Fate)>,
    pub(super) redriven: Vec<RedriveVerdict>,
    pub(super) ticked: Option<Ticked>,
}

impl Call {
    /// Makes the call.
    pub(super) async fn make<Q: QueueSteps>(&self, rig: &Rig<Q>) -> Result<Answer> {
        let (queue, shard) = (&rig.queue, &rig.shard);
        let mut answer = Answer::default();
        answer.text = match self {
            Self::Advance(ms) => show(&rig.time.advance(*ms).await.map(|()| rig.time.now())?),
            Self::SetBack(ms) => show(&rig.time.set_back(*ms).await.map(|()| rig.time.now())?),
            Self::Enqueue(jobs) => kept(&mut answer.enqueued, queue.enqueue(shard, jobs).await?),
            Self::Put(puts) => show(&queue.put(shard, puts).await?),
            Self::Tick(tick) => {
                let ticked = queue.tick(shard, tick).await?;
                answer.ticked = Some(ticked);
                show(&ticked)
            }
            Self::Settle(call) => {
                let settled = queue.settle_and_claim(shard, call).await?;
                let text = show(&settled);
                answer.settled = Some(settled);
                text
            }
            Self::Heartbeat(heartbeat) => kept(&mut answer.held, queue.heartbeat(shard, heartbeat).await?),
            Self::Revoke(ids) => kept(&mut answer.revoked, queue.revoke(shard, ids).await?),
            Self::Reschedule(changes) => kept(&mut answer.rescheduled, queue.reschedule(shard, changes).await?),
            Self::Rescue(rescue) => {
                let rescued = queue.rescue(shard, *rescue).await?;
                answer.rescued.clone_from(&rescued.jobs);
                show(&rescued)
            }
            Self::Redrive(redrive) => {
                let redriven = queue.redrive(shard, redrive).await?;
                let text = show(&redriven);
                answer.redriven = redriven.verdicts;
                text
            }
            Self::Forget(ids) => show(&queue.forget(shard, ids).await?),
            Self::Delete(ids) => show(&queue.delete(shard, ids).await?),
            Self::Purge(state, limit) => show(&queue.purge(shard, *state, *limit).await?),
            Self::Pause(until) => show(&queue.pause(shard, *until).await?),
            Self::Resume => show(&queue.resume(shard).await?),
            Self::SetLimits(limits) => show(&queue.set_limits(shard, *limits).await?),
            Self::Job(id) => show(&queue.job(shard, *id).await?),
            Self::List(state, after, limit) => show(&queue.list(shard, *state, *after, *limit).await?),
            Self::Newest(state, before, limit) => show(&queue.newest(shard, *state, *before, *limit).await?),
            Self::Amend(amend) => show(&queue.amend(shard, amend).await?),
            Self::Previews(ids, bytes) => show(&queue.previews(shard, ids, *bytes).await?),
            Self::JobPosition(id, bytes) => show(&queue.position(shard, *id, *bytes).await?),
            Self::Kept(worker) => show(&queue.kept(shard, *worker).await?),
            Self::Stats => show(&queue.stats(shard).await?),
            Self::PopMarker => show(&queue.pop_marker(shard).await?),
        };
        Ok(answer)
    }
}

fn show(answer: &impl Debug) -> String {
    format!("{answer:?}")
}

fn kept<T: Debug>(place: &mut Vec<T>, answers: Vec<T>) -> String {
    let text = show(&answers);
    *place = answers;
    text
}
