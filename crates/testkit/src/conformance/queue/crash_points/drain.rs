//! A fresh process that knows nothing: it rescues, claims and acknowledges until nothing waits or runs.

use crate::conformance::queue::rig::{Consumer, Rig};
use anyhow::{Result, bail};
use bytes::Bytes;
use evenkeel::queue::JobId;
use evenkeel_protocol::queue::job::End;
use evenkeel_protocol::queue::steps::{Found, Limits, Outcome, ReadStats, Resume, SetLimits, State, Stats, Totals};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Rounds after which a shard that still has jobs counts as stuck.
const ROUNDS_MAX: usize = 100;

/// What a fresh process found.
#[derive(Debug)]
pub(super) struct Rest {
    pub(super) delivered: BTreeMap<JobId, Vec<Delivery>>,
    pub(super) places: BTreeMap<JobId, Place>,
    totals: Totals,
}

/// A job that was handed to the fresh process.
#[derive(Debug)]
pub(super) struct Delivery {
    pub(super) at: u64,
    pub(super) body: Bytes,
}

/// Where a job is when everything is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Alive,
    Dead { body: Bytes, errors: u16, notes: usize },
    Ended(End),
    Gone,
}

impl Rest {
    /// Everything that must not depend on whether a call was made once or repeated.
    pub(super) fn summary(&self) -> String {
        let mut text = format!("{:?}\n", self.totals);
        for (id, place) in &self.places {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{id} {place:?}, delivered {:?}", self.delivered.get(id));
        }
        text
    }
}

/// Drains the shard and returns where each of `ids` ended up.
pub(super) async fn drain(rig: &Rig, ids: &[JobId]) -> Result<Rest> {
    rig.run(&Resume).await?;
    rig.run(&SetLimits(Limits::default())).await?;
    let mut delivered: BTreeMap<JobId, Vec<Delivery>> = BTreeMap::new();
    let mut consumer = Consumer::default();
    for _ in 0..ROUNDS_MAX {
        let stats = rig.run(&ReadStats).await?;
        if is_drained(&stats) {
            let mut places = BTreeMap::new();
            for id in ids {
                places.insert(*id, place(rig, *id).await?);
            }
            return Ok(Rest { delivered, places, totals: stats.totals });
        }
        if stats.leased > 0 {
            rig.expire_leases().await?;
        }
        let claimed = rig.settle_and_claim(&consumer.call(50)).await?;
        let next = claimed.next;
        let mut call = consumer.call(0);
        for taken in claimed.deliveries {
            let body = taken.job.map(|job| job.spec.body)?;
            delivered.entry(taken.receipt.id).or_default().push(Delivery { at: next.now, body });
            call.settlements.push((taken.receipt, Outcome::Done));
        }
        rig.settle_and_claim(&call).await?;
        if let Some(due) = next.due.filter(|due| *due > next.now) {
            rig.time.advance(due - next.now).await?;
        }
    }
    bail!("still work after {ROUNDS_MAX} rounds: {:?}", rig.run(&ReadStats).await?)
}

fn is_drained(stats: &Stats) -> bool {
    stats.leased == 0 && stats.waiting.iter().all(|waiting| *waiting == 0)
}

async fn place(rig: &Rig, id: JobId) -> Result<Place> {
    Ok(match rig.queue.job(&rig.shard, id).await? {
        None => Place::Gone,
        Some(Found::Ended(completion)) => Place::Ended(completion.end),
        Some(Found::Live { state: State::Dead, job, .. }) => {
            Place::Dead { body: job.spec.body.clone(), errors: job.errors, notes: job.spec.notes.len() }
        }
        Some(Found::Live { .. }) => Place::Alive,
    })
}
