//! Promises that need more than the current keys, kept with a ledger of replies.

use super::Move;
use crate::conformance::step::Reply;
use anyhow::{Result, ensure};
use evenkeel::Token;
use evenkeel::queue::JobId;
use evenkeel_protocol::queue::job::Retries;
use evenkeel_protocol::queue::steps::{
    Claimed, Enqueue, Enqueued, Fate, Heartbeat, Puts, Receipt, Redrive, RedriveVerdict, Rescheduled, Reschedules,
    Rescue, Revoke, Revoked, SettleAndClaim, Settled, Tick, Ticked, Verdict,
};
use std::collections::{HashMap, HashSet};

/// The promises so far. A sender that gets "created" has made another job of that id: its ledger begins anew.
#[derive(Default)]
pub(super) struct Watch {
    revoked: HashSet<JobId>,
    /// The latest delivery of each job, until a reply ends it.
    current: HashMap<JobId, Receipt>,
    /// Jobs whose delivery may or may not be current: a `put` does not say whether it changed anything.
    unsure: HashSet<JobId>,
    fences: HashMap<JobId, u64>,
    /// Jobs with a version that a rescue did not make dead because a row decides: the consumer asks the row, and does not
    /// run a dead one.
    spared: HashSet<JobId>,
    redriven: HashSet<([u8; 16], JobId)>,
    /// What each call of a worker was answered, to know a repeat.
    answered: HashMap<Token, Vec<Verdict>>,
}

impl Watch {
    /// Checks one reply.
    pub(super) fn see(&mut self, drawn: &Move, reply: &Reply, now: u64) -> Result<()> {
        if let Some((call, Settled::Done(claimed))) = drawn.played::<SettleAndClaim>(reply) {
            self.settlements(call, claimed)?;
            self.deliveries(claimed, now)?;
        }
        if let Some((heartbeat, held)) = drawn.played::<Heartbeat>(reply) {
            for ((receipt, _), held) in heartbeat.deliveries.iter().zip(held) {
                self.is_current(*receipt, *held, "extended")?;
            }
        }
        if let Some((enqueue, answers)) = drawn.played::<Enqueue>(reply) {
            let created = enqueue.0.iter().zip(answers).filter(|(_, answer)| **answer == Enqueued::Created);
            created.for_each(|(job, _)| self.begin_anew(job.id));
        }
        if let Some((puts, _)) = drawn.played::<Puts>(reply) {
            puts.0.iter().for_each(|put| {
                self.begin_anew(put.id);
                self.unsure.insert(put.id);
            });
        }
        // It leaves ids alone that live, and does not say which these were.
        if let Some((tick, Ticked::Moved)) = drawn.played::<Tick>(reply) {
            tick.jobs.iter().for_each(|job| {
                self.revoked.remove(&job.id);
                if !self.current.contains_key(&job.id) {
                    self.begin_anew(job.id);
                    self.unsure.insert(job.id);
                }
            });
        }
        if let Some((redrive, redriven)) = drawn.played::<Redrive>(reply) {
            for (id, verdict) in redrive.ids.iter().zip(&redriven.verdicts) {
                let again = *verdict == RedriveVerdict::Taken && !self.redriven.insert((redrive.redrive, *id));
                ensure!(!again, "I9: {id} was taken twice by one redrive");
            }
        }
        if let Some((revoke, revoked)) = drawn.played::<Revoke>(reply) {
            let gone = |revoked: &Revoked| matches!(revoked, Revoked::Revoked | Revoked::RevokedAfterLeaseExpiry);
            for (id, _) in revoke.0.iter().zip(revoked).filter(|(_, revoked)| gone(revoked)) {
                self.revoked.insert(*id);
                self.current.remove(id);
            }
        }
        if let Some((changes, rescheduled)) = drawn.played::<Reschedules>(reply) {
            let moved =
                |answer: &Rescheduled| matches!(answer, Rescheduled::Changed | Rescheduled::ChangedAfterLeaseExpiry);
            for (change, _) in changes.0.iter().zip(rescheduled).filter(|(_, answer)| moved(answer)) {
                self.current.remove(&change.id);
            }
        }
        if let Some((rescue, rescued)) = drawn.played::<Rescue>(reply) {
            for (id, fate) in &rescued.jobs {
                self.current.remove(id);
                if rescue.row_decides && *fate == Fate::Crashed {
                    self.spared.insert(*id);
                }
            }
        }
        Ok(())
    }

    fn settlements(&mut self, call: &SettleAndClaim, claimed: &Claimed) -> Result<()> {
        let repeated = self.answered.insert(call.token, claimed.verdicts.clone()).as_ref() == Some(&claimed.verdicts);
        for ((receipt, _), verdict) in call.settlements.iter().zip(&claimed.verdicts).filter(|_| !repeated) {
            self.is_current(*receipt, *verdict != Verdict::Lost, "settled")?;
            if *verdict != Verdict::Lost {
                self.current.remove(&receipt.id);
            }
        }
        Ok(())
    }

    fn deliveries(&mut self, claimed: &Claimed, now: u64) -> Result<()> {
        // The answer to a repeated call knows no due times.
        for delivered in claimed.deliveries.iter().filter(|delivered| delivered.due_at > 0) {
            let (id, fence) = (delivered.receipt.id, delivered.receipt.fence);
            ensure!(delivered.due_at <= now, "I7: {id} was due at {} and started at {now}", delivered.due_at);
            ensure!(!self.revoked.contains(&id), "I8: {id} was revoked and started");
            let running = self.current.insert(id, delivered.receipt);
            ensure!(running.is_none(), "I4: {id} was given out while it runs");
            self.unsure.remove(&id);
            let before = self.fences.insert(id, fence).unwrap_or(0);
            ensure!(fence > before, "the fence of {id} went from {before} to {fence}");
            if let Ok(job) = &delivered.job
                && let Retries::Limited(retries) = job.spec.retries
            {
                let is_over = job.errors > retries;
                let is_spared = job.spec.version.is_some() && self.spared.contains(&id);
                ensure!(!is_over || is_spared, "I6: {id} starts after {} errors with {retries} retries", job.errors);
                if !is_over {
                    self.spared.remove(&id);
                }
            }
        }
        Ok(())
    }

    /// (I5) Only the current delivery has an effect.
    fn is_current(&self, receipt: Receipt, took_effect: bool, what: &str) -> Result<()> {
        let id = receipt.id;
        let current = self.unsure.contains(&id) || self.current.get(&id) == Some(&receipt);
        ensure!(current || !took_effect, "I5: a delivery of {id} that is not current {what} it");
        Ok(())
    }

    fn begin_anew(&mut self, id: JobId) {
        self.revoked.remove(&id);
        self.current.remove(&id);
        self.unsure.remove(&id);
        self.fences.remove(&id);
        self.redriven.retain(|(_, redriven)| *redriven != id);
    }
}
