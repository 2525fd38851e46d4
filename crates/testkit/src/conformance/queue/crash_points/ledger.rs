//! What a process requested and which replies it got, and what must therefore be true of the shard whatever happened to the
//! rest.

use super::drain::{Place, Rest};
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use evenkeel::queue::JobId;
use evenkeel_protocol::queue::steps::NewJob;
use std::collections::{BTreeMap, HashSet};

/// Facts about jobs. Every fact is written down before the call is sent, and firmly once it was answered.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    jobs: BTreeMap<JobId, Facts>,
}

/// What is known of one job.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// A reply said that it was accepted.
    pub(super) accepted: bool,
    /// A process requested its end: an ack, a revocation, a deletion.
    pub(super) may_have_ended: bool,
    /// A reply said that it ended.
    pub(super) ended: bool,
    /// A process made a call after which it may be a dead letter.
    pub(super) may_be_dead: bool,
    /// It does not start before this.
    pub(super) due: u64,
    /// The versions that it may have.
    pub(super) bodies: HashSet<Bytes>,
}

impl Ledger {
    /// A job is about to be sent.
    pub(super) fn sent(&mut self, job: &NewJob, due: u64) {
        let facts = self.jobs.entry(job.id).or_insert_with(|| Facts { due, ..Facts::default() });
        facts.bodies.insert(job.spec.body.clone());
    }

    /// The facts of a job that was sent.
    pub(super) fn of(&mut self, id: JobId) -> &mut Facts {
        self.jobs.entry(id).or_default()
    }

    /// Every job there may be.
    pub(super) fn ids(&self) -> Vec<JobId> {
        self.jobs.keys().copied().collect()
    }

    /// Holds what a fresh process found against what was promised.
    pub(super) fn check(&self, rest: &Rest) -> Result<()> {
        for id in rest.delivered.keys() {
            ensure!(self.jobs.contains_key(id), "{id} was delivered and never sent");
        }
        for (id, facts) in &self.jobs {
            check_job(*id, facts, rest).with_context(|| format!("{id}: {facts:?}"))?;
        }
        Ok(())
    }
}

fn check_job(id: JobId, facts: &Facts, rest: &Rest) -> Result<()> {
    let deliveries = rest.delivered.get(&id).map_or(&[][..], Vec::as_slice);
    let place = rest.places.get(&id).context("its place is unknown")?;
    ensure!(deliveries.len() <= 1, "delivered {} times by one process that acknowledges", deliveries.len());
    ensure!(!facts.ended || deliveries.is_empty(), "its end was confirmed, and it was delivered");
    for delivery in deliveries {
        ensure!(delivery.at >= facts.due, "I7: delivered at {}", delivery.at);
        ensure!(facts.bodies.contains(&delivery.body), "delivered with the body {:?}", delivery.body);
    }
    match place {
        Place::Alive => ensure!(false, "it still waits or runs after draining"),
        Place::Dead { body, .. } => {
            ensure!(facts.may_be_dead && !facts.ended, "a dead letter");
            ensure!(facts.bodies.contains(body), "a dead letter with the body {body:?}");
        }
        Place::Ended(_) | Place::Gone => {
            let lost = facts.accepted && deliveries.is_empty() && !facts.may_have_ended;
            ensure!(!lost, "I1: it was accepted and is lost");
        }
    }
    Ok(())
}
