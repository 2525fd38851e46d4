//! A process under test: it makes calls over a connection that will be cut, and records its requests and the replies.

use super::AfterTheCut;
use super::ledger::Ledger;
use crate::conformance::queue::rig::{Consumer, Rig};
use crate::conformance::rig::ServerTime;
use anyhow::{Context, Result, bail};
use bytes::Bytes;
use evenkeel::link::{Link, LinkState};
use evenkeel::queue::JobId;
use evenkeel_protocol::queue::QueueBackend;
use evenkeel_protocol::queue::steps::{
    Claimed, Delete, Delivered, Enqueue, Enqueued, Heartbeat, NewJob, Outcome, Progress, Purge, Put, PutChange, Puts,
    Receipt, Redrive, Redriven, Report, Reschedule, Rescheduled, Reschedules, Rescue, Revoke, Revoked, SettleAndClaim,
    Settled, Shard, State, Tick, Verdict, When,
};
use evenkeel_protocol::step::Step;
use std::time::Duration;

/// A link comes back at once; a passing test does not wait this long.
const BACK_MAX: Duration = Duration::from_secs(60);
const LEASE_MS: u64 = 30_000;

/// One process and what it holds against the queue.
pub(super) struct Process<'a> {
    queue: QueueBackend,
    link: Link,
    pub(super) time: &'a ServerTime,
    shard: &'a Shard,
    ledger: &'a mut Ledger,
    after: AfterTheCut,
}

impl<'a> Process<'a> {
    pub(super) fn new(link: Link, rig: &'a Rig, ledger: &'a mut Ledger, after: AfterTheCut) -> Self {
        Self { queue: QueueBackend::redis(link.clone()), link, time: &rig.time, shard: &rig.shard, ledger, after }
    }

    /// Makes a call; one that repeats makes it until it is answered.
    pub(super) async fn ask<S: Step<Shard>>(&self, step: &S) -> Result<S::Reply> {
        loop {
            match self.queue.run(self.shard, step).await {
                Err(error) if self.after == AfterTheCut::Repeats => {
                    if !error.outcome_unknown() && !error.is_retryable() {
                        return Err(error.into());
                    }
                    tokio::task::yield_now().await;
                    let mut state = self.link.state();
                    let back = tokio::time::timeout(BACK_MAX, state.wait_for(LinkState::is_up)).await;
                    back.context("the link does not come back")?.context("the link is gone")?;
                }
                answer => return Ok(answer?),
            }
        }
    }

    pub(super) async fn enqueue(&mut self, jobs: &[NewJob]) -> Result<Vec<Enqueued>> {
        let now = self.time.now();
        jobs.iter().for_each(|job| self.ledger.sent(job, due_at(job.when, now)));
        let answers = self.ask(&Enqueue(jobs.to_vec())).await?;
        for (job, answer) in jobs.iter().zip(&answers) {
            match answer {
                Enqueued::Created | Enqueued::Duplicate => self.ledger.of(job.id).accepted = true,
                // It was not accepted: its reply is about the earlier job of that id, if any.
                _ => {}
            }
        }
        Ok(answers)
    }

    pub(super) async fn put(&mut self, job: NewJob, version: u64) -> Result<()> {
        self.ledger.sent(&job, due_at(job.when, self.time.now()));
        let put = Put { id: job.id, version, change: PutChange::Job(job.when, Box::new(job.spec.clone())) };
        self.ask(&Puts(vec![put])).await?;
        self.ledger.of(job.id).accepted = true;
        Ok(())
    }

    pub(super) async fn tick(&mut self, tick: &Tick) -> Result<()> {
        let now = self.time.now();
        tick.jobs.iter().for_each(|job| self.ledger.sent(job, due_at(job.when, now)));
        // Repeated, it finds its own tick: whatever it says, the tick is in.
        self.ask(tick).await?;
        tick.jobs.iter().for_each(|job| self.ledger.of(job.id).accepted = true);
        Ok(())
    }

    pub(super) async fn progress(&self, receipt: Receipt) -> Result<bool> {
        let words = Bytes::from_static(b"half of it");
        self.ask(&Progress { receipt, progress: words }).await
    }

    pub(super) async fn settle(&mut self, call: &SettleAndClaim) -> Result<Claimed> {
        for (receipt, outcome) in &call.settlements {
            let facts = self.ledger.of(receipt.id);
            facts.may_have_ended |= *outcome == Outcome::Done;
            facts.may_be_dead |= matches!(outcome, Outcome::Failed { .. } | Outcome::Dead { .. });
            if let Outcome::Failed { retry_ms: ms, .. } | Outcome::Snoozed { after_ms: ms } = outcome {
                // If the answer is lost, the settlement may be too; then it is due as it was.
                facts.due = facts.due.min(self.time.now() + ms);
            }
        }
        let claimed = match self.ask(call).await? {
            Settled::Done(claimed) => claimed,
            Settled::Stale => bail!("the only call of this worker is stale"),
        };
        for ((receipt, outcome), verdict) in call.settlements.iter().zip(&claimed.verdicts) {
            let facts = self.ledger.of(receipt.id);
            match (outcome, verdict) {
                (Outcome::Done, Verdict::Settled) => facts.ended = true,
                (Outcome::Done, _) => facts.may_have_ended = facts.ended,
                (Outcome::Failed { retry_ms: ms, .. } | Outcome::Snoozed { after_ms: ms }, Verdict::Settled) => {
                    facts.due = self.time.now() + ms;
                }
                _ => {}
            }
        }
        Ok(claimed)
    }

    pub(super) async fn claim(&mut self, consumer: &mut Consumer, limit: usize) -> Result<Vec<Delivered>> {
        let call = consumer.call(limit);
        Ok(self.settle(&call).await?.deliveries)
    }

    pub(super) async fn end(
        &mut self,
        consumer: &mut Consumer,
        settlements: Vec<(Receipt, Outcome)>,
    ) -> Result<Vec<Verdict>> {
        let call = SettleAndClaim { settlements, ..consumer.call(0) };
        Ok(self.settle(&call).await?.verdicts)
    }

    pub(super) async fn heartbeat(&mut self, consumer: &Consumer, receipts: &[Receipt]) -> Result<Vec<bool>> {
        let deliveries = receipts.iter().map(|receipt| (*receipt, Report::ALONE)).collect();
        let heartbeat = Heartbeat { worker: consumer.worker, lease_ms: LEASE_MS, deliveries };
        self.ask(&heartbeat).await
    }

    pub(super) async fn rescue(&mut self, may_die: &[JobId]) -> Result<()> {
        may_die.iter().for_each(|id| self.ledger.of(*id).may_be_dead = true);
        let rescue = Rescue { limit: 100, crash_max: 3, crash_delay_ms: 1_000, row_decides: false };
        self.ask(&rescue).await.map(drop)
    }

    pub(super) async fn revoke(&mut self, id: JobId) -> Result<Revoked> {
        let before = self.ledger.of(id).may_have_ended;
        self.ledger.of(id).may_have_ended = true;
        let revoked = self.ask(&Revoke(vec![id])).await?;
        let facts = self.ledger.of(id);
        match revoked[0] {
            Revoked::Revoked | Revoked::RevokedAfterLeaseExpiry | Revoked::Ended(_) => facts.ended = true,
            _ => facts.may_have_ended = before,
        }
        Ok(revoked[0])
    }

    pub(super) async fn reschedule(
        &mut self,
        id: JobId,
        when: Option<When>,
        body: Option<Bytes>,
    ) -> Result<Rescheduled> {
        let now = self.time.now();
        let facts = self.ledger.of(id);
        facts.bodies.extend(body.clone());
        let due = when.map(|when| due_at(when, now));
        facts.due = due.map_or(facts.due, |due| facts.due.min(due));
        let change = Reschedule { id, when, body, codec: None };
        let answer = self.ask(&Reschedules(vec![change])).await?;
        if let (Some(due), Rescheduled::Changed) = (due, answer[0]) {
            self.ledger.of(id).due = due;
        }
        Ok(answer[0])
    }

    pub(super) async fn redrive(&mut self, name: u8, ids: &[JobId]) -> Result<Redriven> {
        let redrive =
            Redrive { redrive: [name; 16], filter: Bytes::from_static(b"all"), ids: ids.to_vec(), delay_ms: 0 };
        self.ask(&redrive).await
    }

    pub(super) async fn delete(&mut self, id: JobId) -> Result<()> {
        self.ledger.of(id).may_have_ended = true;
        self.ask(&Delete(vec![id])).await?;
        self.ledger.of(id).ended = true;
        Ok(())
    }

    pub(super) async fn purge(&mut self, state: State, ids: &[JobId]) -> Result<()> {
        ids.iter().for_each(|id| self.ledger.of(*id).may_have_ended = true);
        self.ask(&Purge { state, limit: ids.len() }).await?;
        ids.iter().for_each(|id| self.ledger.of(*id).ended = true);
        Ok(())
    }

    pub(super) async fn withdraw(&mut self, put: Put) -> Result<()> {
        let id = put.id;
        self.ledger.of(id).may_have_ended = true;
        self.ask(&Puts(vec![put])).await?;
        self.ledger.of(id).ended = true;
        Ok(())
    }
}

fn due_at(when: When, now: u64) -> u64 {
    match when {
        When::At(at) => at,
        When::In(ms) => now + ms,
    }
}
