//! Shard migration: grows a topic to more shards while it is used.

use super::{JobState, Topic};
use crate::queue::sharding::shards::{SHARDS_MAX, Shards};
use evenkeel_link::support::guard;
use evenkeel_protocol::queue::QueueBackend;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::grow::{
    Close, Item, ReadSchedules, ScanIds, SendItems, SendOutcome, TRANSFERS_MAX, carry,
};
use evenkeel_protocol::queue::job::JobId;
use evenkeel_protocol::queue::steps::{ITEMS_MAX, List, Shard};
use std::collections::BTreeSet;
use std::time::Duration;

/// The pause before the next pass over a shard whose leased jobs cannot be moved yet.
const LEASED: Duration = Duration::from_millis(500);

/// The progress of a shard migration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grown {
    /// The new number of shards.
    pub shards: u16,
    /// The jobs, completion records and schedules that this call has moved.
    pub moved: u64,
    /// The running jobs of the current shard, which move when their deliveries have ended.
    pub running: u64,
}

impl Topic {
    /// Grows the topic to more shards: a multiple of its present number, so that jobs move only to new shards. Senders and consumers
    /// continue meanwhile, without a restart; a job that is being moved may start late by the time of its move, and consumers open the new
    /// shards within some seconds. The call returns when every job is in its shard, which includes waiting for running jobs. If the call is
    /// dropped or its process killed, no job is lost, and a call with the same number resumes the migration; until then every lookup may
    /// cost one more call, and the consumers deliver the batches that were being moved. A flush of Redis meanwhile does not end the
    /// migration.
    ///
    /// A unique key in addition to an id requires one shard: a topic whose senders use such keys must not grow, because it rejects them
    /// afterwards. A redrive that was begun before has a later cutoff on the new shards.
    ///
    /// # Errors
    /// [`QueueError::Invalid`]: the number is not a multiple, or the topic is growing to another number. [`QueueError::Link`]: call again.
    pub async fn grow(&self, shards: u16) -> Result<Grown, QueueError> {
        self.grow_with(shards, |_| {}).await
    }

    /// Like [`grow`](Self::grow); calls `progress` after every pass over a shard.
    ///
    /// # Errors
    /// As [`grow`](Self::grow).
    pub async fn grow_with(&self, shards: u16, mut progress: impl FnMut(&Grown) + Send) -> Result<Grown, QueueError> {
        let known = self.begin(shards).await?;
        let mut grown = Grown { shards, ..Grown::default() };
        let Some(before) = known.before() else { return Ok(grown) };
        let (moving, settled) = (known.topology(), known.topology().settled());
        loop {
            self.close(&known, before).await?;
            for number in 0..before {
                while !self.drain(&known, known.at(number), &mut grown).await? {
                    progress(&grown);
                    if grown.running > 0 {
                        self.clock.sleep(LEASED).await;
                    }
                }
                progress(&grown);
            }
            let held = self.store.grow(&self.name, moving, &settled).await?;
            // A flush has removed the entry, which this stores again, and has opened the shards.
            self.router.look().await?;
            if !held.is_before(&settled) || !guard("queue_growth_resumed") {
                return Ok(grown);
            }
        }
    }

    /// Stores the new topology, so that all routers ask both the old and the new shard of a job.
    async fn begin(&self, shards: u16) -> Result<Shards, QueueError> {
        let known = self.router.look().await?;
        let invalid = |reason: String| Err(QueueError::Invalid(format!("topic {}: {reason}", self.name)));
        if known.count() == shards {
            return Ok(known);
        }
        if known.before().is_some() {
            return invalid(format!(
                "it is already growing to {0} shards; complete that first: grow it to {0}",
                known.count()
            ));
        }
        if shards < known.count() || !shards.is_multiple_of(known.count()) || shards > SHARDS_MAX {
            return invalid(format!(
                "it has {} shards; the new number must be a multiple of that, at most {SHARDS_MAX}",
                known.count()
            ));
        }
        self.store.grow(&self.name, known.topology(), &known.topology().grown(shards)).await?;
        let now = self.router.look().await?;
        if now.count() != shards {
            return invalid(format!("another call is growing it to {} shards now", now.count()));
        }
        Ok(now)
    }

    /// Closes all shards for jobs of other shards.
    async fn close(&self, known: &Shards, before: u16) -> Result<(), QueueError> {
        let shards = known.count();
        for (number, shard) in (0..).zip(known.iter()) {
            // The old shards come first; each new shard inherits the settings of one of them.
            let inherits = if number < before {
                None
            } else {
                let close = Close { shards, before, inherits: None };
                Some(self.store.run(known.at(number % before), &close).await?)
            };
            self.store.run(shard, &Close { shards, before, inherits }).await?;
        }
        Ok(())
    }

    /// Makes one pass over a shard and moves what can be moved; returns whether nothing was left to move.
    async fn drain(&self, known: &Shards, shard: &Shard, grown: &mut Grown) -> Result<bool, QueueError> {
        grown.running = 0;
        let mut found = 0;
        // Schedules first, because the ticks of a schedule create jobs in its shard.
        let schedules = self.store.run(shard, &ReadSchedules).await?;
        let schedules: Vec<Item> = schedules.into_iter().map(Item::Schedule).collect();
        found += self.forward(known, shard, &schedules, grown).await?;
        for state in [JobState::Waiting, JobState::Leased, JobState::Dead] {
            for stored in state.states_in_store() {
                let mut after = None;
                loop {
                    let list = List { after, ..List::first(stored, ITEMS_MAX) };
                    let page = self.store.run(shard, &list).await?;
                    let Some(last) = page.last() else { break };
                    after = Some(*last);
                    let ids: Vec<JobId> = page.iter().map(|listed| listed.id).collect();
                    found += self.forward(known, shard, &jobs(&ids), grown).await?;
                }
            }
        }
        // The indexes change during the pass, and completion records are in none. A pass over the keys finds everything, and a closed shard
        // accepts nothing new of other shards.
        let mut cursor = 0;
        loop {
            let (ids, next) = self.store.run(shard, &ScanIds { cursor }).await?;
            for ids in ids.chunks(ITEMS_MAX) {
                found += self.forward(known, shard, &jobs(ids), grown).await?;
            }
            cursor = next;
            if cursor == 0 {
                break;
            }
        }
        carry_left_behind(&self.store, known, shard).await?;
        Ok(found == 0)
    }

    /// Moves the items that belong to other shards. Returns their number, including leased ones.
    async fn forward(
        &self,
        known: &Shards,
        shard: &Shard,
        items: &[Item],
        grown: &mut Grown,
    ) -> Result<usize, QueueError> {
        let id = |item: &Item| match item {
            Item::Job(id) => *id,
            Item::Schedule(schedule) => JobId(*schedule),
        };
        let items: Vec<Item> = items.iter().copied().filter(|item| known.of(id(item)) != shard.number()).collect();
        let mut found = 0;
        // Small batches, because a job that is being moved is due in no shard.
        for items in items.chunks(TRANSFERS_MAX) {
            let given = self.store.run(shard, &SendItems(items.to_vec())).await?;
            found += given.iter().filter(|given| **given != SendOutcome::No).count();
            grown.moved += count(&given, SendOutcome::Sent);
            grown.running += count(&given, SendOutcome::Leased);
            let ways: BTreeSet<u16> = items.iter().map(|item| known.of(id(item))).collect();
            for to in ways {
                carry(&self.store, shard, known.at(to)).await?;
            }
        }
        Ok(found)
    }
}

/// Delivers all pending batches of one shard while the topic grows, such as those that a killed shard migration has left.
pub(in crate::queue) async fn carry_left_behind(
    store: &QueueBackend,
    known: &Shards,
    shard: &Shard,
) -> Result<(), QueueError> {
    let Some(before) = known.before().filter(|before| shard.number() < *before) else { return Ok(()) };
    for to in (shard.number()..known.count()).step_by(usize::from(before)).skip(1) {
        carry(store, shard, known.at(to)).await?;
    }
    Ok(())
}

fn jobs(ids: &[JobId]) -> Vec<Item> {
    ids.iter().map(|id| Item::Job(*id)).collect()
}

fn count(given: &[SendOutcome], requested: SendOutcome) -> u64 {
    u64::try_from(given.iter().filter(|given| **given == requested).count()).unwrap_or(u64::MAX)
}
