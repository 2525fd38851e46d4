//! Spreading a topic over more shards: drain and forward.

use super::{Place, Topic};
use crate::queue::sharding::shards::{SHARDS_MAX, Shards};
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::grow::{Close, Given, GrowSteps, Item, PARCELS_MAX, carry};
use evenkeel_protocol::queue::job::JobId;
use evenkeel_protocol::queue::steps::{ITEMS_MAX, Shard};
use std::collections::BTreeSet;
use std::time::Duration;

/// How long to wait before the next look at jobs that are leased and cannot be moved yet.
const LEASED: Duration = Duration::from_millis(500);

/// How far a topic has grown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grown {
    /// Over how many shards it is spread.
    pub shards: u16,
    /// Jobs, stamps and schedules that this call has moved.
    pub moved: u64,
    /// Of the shard in work: jobs that run, and move when their deliveries have ended.
    pub running: u64,
}

impl Topic {
    /// Spreads the topic over more shards: a multiple of what it has, so that every shard gives only to new ones. Producers and
    /// consumers go on meanwhile, whether they know of it or not; a job on its way is due late by as long as its way takes, and
    /// consumers open the new shards within some seconds. Ends when everything is where it belongs, which waits for the jobs
    /// that run. Dropped, or killed, anywhere: nothing is lost, and a call with the same number goes on; until then every look-up
    /// may cost one call more, and what was just on its way is carried on by the consumers.
    ///
    /// A unique key beside an id needs one shard: a topic whose senders use them must not grow (they are refused afterwards). A
    /// redrive that was begun before has a later cutoff on the new shards.
    ///
    /// # Errors
    /// [`QueueError::Invalid`]: the number is no multiple, or the topic grows to another one. [`QueueError::Link`]: call again.
    pub async fn grow(&self, shards: u16) -> Result<Grown, QueueError> {
        self.grow_with(shards, |_| {}).await
    }

    /// Like [`grow`](Self::grow); `progress` is told after every look through a shard.
    ///
    /// # Errors
    /// As [`grow`](Self::grow).
    pub async fn grow_with(&self, shards: u16, mut progress: impl FnMut(&Grown) + Send) -> Result<Grown, QueueError> {
        let known = self.begin(shards).await?;
        let mut grown = Grown { shards, ..Grown::default() };
        let Some(before) = known.before() else { return Ok(grown) };
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
        let topology = known.topology();
        self.store.grow(&self.name, topology, &topology.settled()).await?;
        self.router.look().await?;
        Ok(grown)
    }

    /// Enters the new number, so that everybody who finds nothing looks in both places.
    async fn begin(&self, shards: u16) -> Result<Shards, QueueError> {
        let known = self.router.look().await?;
        let invalid = |reason: String| Err(QueueError::Invalid(format!("topic {}: {reason}", self.name)));
        if known.count() == shards {
            return Ok(known);
        }
        if known.before().is_some() {
            return invalid(format!(
                "it grows to {0} shards already; let that end first: grow it to {0}",
                known.count()
            ));
        }
        if shards < known.count() || !shards.is_multiple_of(known.count()) || shards > SHARDS_MAX {
            return invalid(format!("it has {}, and grows to a multiple of that, at most {SHARDS_MAX}", known.count()));
        }
        self.store.grow(&self.name, known.topology(), &known.topology().grown(shards)).await?;
        let now = self.router.look().await?;
        if now.count() != shards {
            return invalid(format!("somebody else lets it grow to {} just now", now.count()));
        }
        Ok(now)
    }

    /// From here on no shard takes in what another one keeps.
    async fn close(&self, known: &Shards, before: u16) -> Result<(), QueueError> {
        let shards = known.count();
        for (number, shard) in (0..).zip(known.iter()) {
            // The old ones come first; each new one takes over the settings of one of them.
            let inherits = if number < before {
                None
            } else {
                let close = Close { shards, before, inherits: None };
                Some(self.store.close(known.at(number % before), close).await?)
            };
            self.store.close(shard, Close { shards, before, inherits }).await?;
        }
        Ok(())
    }

    /// One look through a shard, moving what can be moved; whether nothing was left to move.
    async fn drain(&self, known: &Shards, shard: &Shard, grown: &mut Grown) -> Result<bool, QueueError> {
        grown.running = 0;
        let mut found = 0;
        // Schedules first: while one is here, its ticks make jobs here.
        let schedules = self.store.schedules(shard).await?;
        let schedules: Vec<Item> = schedules.into_iter().map(Item::Schedule).collect();
        found += self.forward(known, shard, &schedules, grown).await?;
        for place in [Place::Waiting, Place::Leased, Place::Dead] {
            for state in place.states() {
                let mut after = None;
                loop {
                    let page = self.store.list(shard, state, after, ITEMS_MAX).await?;
                    let Some(last) = page.last() else { break };
                    after = Some(*last);
                    let ids: Vec<JobId> = page.iter().map(|listed| listed.id).collect();
                    found += self.forward(known, shard, &jobs(&ids), grown).await?;
                }
            }
        }
        // The indexes change while one walks along them, and stamps are in none. Keys do not move: what this look does not
        // find is not there, and does not come any more.
        let mut cursor = 0;
        loop {
            let (ids, next) = self.store.ids(shard, cursor).await?;
            for ids in ids.chunks(ITEMS_MAX) {
                found += self.forward(known, shard, &jobs(ids), grown).await?;
            }
            cursor = next;
            if cursor == 0 {
                break;
            }
        }
        carry_left_behind(&*self.store, known, shard).await?;
        Ok(found == 0)
    }

    /// Moves those of the items that other shards keep. How many there were, those included that are leased.
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
        // Few at a time: what is on its way is due nowhere.
        for items in items.chunks(PARCELS_MAX) {
            let given = self.store.give(shard, items).await?;
            found += given.iter().filter(|given| **given != Given::No).count();
            grown.moved += count(&given, Given::Given);
            grown.running += count(&given, Given::Leased);
            let ways: BTreeSet<u16> = items.iter().map(|item| known.of(id(item))).collect();
            for to in ways {
                carry(&*self.store, shard, known.at(to)).await?;
            }
        }
        Ok(found)
    }
}

/// Carries over whatever is on its way from one shard, if the topic grows: what a mover that was killed has left behind.
pub(in crate::queue) async fn carry_left_behind(
    store: &dyn GrowSteps,
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

fn count(given: &[Given], wanted: Given) -> u64 {
    u64::try_from(given.iter().filter(|given| **given == wanted).count()).unwrap_or(u64::MAX)
}
