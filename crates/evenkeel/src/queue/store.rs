//! The steps of all queues of a keel, over whatever it keeps its state in; and the register of its topics.

use super::error::QueueError;
use super::grow::{Close, Given, GrowSteps, Inherited, Item, Parcel};
use super::job::JobId;
use super::memory::MemoryQueue;
use super::redis::RedisQueue;
use super::register::{MemoryTopics, RedisTopics, ScheduleRecord, TopicRecord};
use super::shards::Shards;
use super::steps::{
    Beat, Enqueued, Found, Head, Limits, Listed, Looked, NewJob, Put, PutAnswer, QueueSteps, Receipt, Redrive,
    Redriven, Reschedule, Rescheduled, Rescue, Rescued, Revoked, SettleAndClaim, Settled, Shard, State, Stats, Tick,
    Ticked,
};
use super::topology::Topology;
use crate::clock::Clock;
use crate::link::Link;
use bytes::Bytes;
use std::sync::Arc;

/// The namespace of keys in an embedded store, where there is nobody to be apart from.
const MEMORY_PREFIX: &str = "evenkeel";

/// Where the jobs of a keel are. Cheap to clone.
#[derive(Clone)]
pub(crate) enum QueueStore {
    /// In this process.
    Memory(Arc<Embedded>),
    /// On Redis.
    Redis(RedisQueue),
}

/// The embedded store of one keel: all of its queues share it.
pub(crate) struct Embedded {
    pub(super) steps: MemoryQueue,
    topics: MemoryTopics,
    clock: Clock,
}

impl Embedded {
    pub(super) fn new(clock: Clock) -> Self {
        Self { steps: MemoryQueue::new(clock.clone()), topics: MemoryTopics::default(), clock }
    }
}

impl QueueStore {
    /// The link to Redis, if that is where the jobs are.
    pub(crate) fn link(&self) -> Option<&Link> {
        match self {
            Self::Memory(_) => None,
            Self::Redis(redis) => Some(redis.link()),
        }
    }

    /// The store's own time in ms, as well as it is known here.
    pub(crate) fn now_ms(&self) -> u64 {
        match self {
            Self::Memory(embedded) => embedded.clock.unix_ms(),
            Self::Redis(redis) => redis.link().server_now_ms(),
        }
    }

    /// What all keys begin with.
    pub(crate) fn prefix(&self) -> &str {
        self.link().map_or(MEMORY_PREFIX, Link::prefix)
    }

    /// The shards of a topic.
    pub(crate) fn shards(&self, topic: &str, topology: &Topology) -> Shards {
        Shards::new(self.prefix(), topic, topology)
    }

    /// Over how many shards a topic is spread that began with `first`.
    pub(crate) async fn topology(&self, topic: &str, first: u16) -> Result<Topology, QueueError> {
        let entry = match self {
            Self::Memory(embedded) => embedded.topics.grown(topic),
            Self::Redis(redis) => RedisTopics::new(redis.link()).grown(topic).await?,
        };
        match entry {
            None => Ok(Topology::of(first)),
            Some(entry) => read_topology(topic, &entry),
        }
    }

    /// Moves the topology of a topic on, unless it is another one than the caller has seen. Answers what it is then.
    pub(crate) async fn grow(&self, topic: &str, seen: &Topology, next: &Topology) -> Result<Topology, QueueError> {
        // A topic that has never grown has no entry.
        let entry = |topology: &Topology| if topology.has_grown() { topology.to_string() } else { String::new() };
        let held = match self {
            Self::Memory(embedded) => embedded.topics.grow(topic, &entry(seen), &entry(next)),
            Self::Redis(redis) => RedisTopics::new(redis.link()).grow(topic, &entry(seen), &entry(next)).await?,
        };
        if held.is_empty() { Ok(seen.clone()) } else { read_topology(topic, &held) }
    }

    /// Enters a topic, or finds it entered: its number of shards stays, the rest is as the last one to open it says.
    pub(crate) async fn register(&self, topic: &str, record: &TopicRecord) -> Result<TopicRecord, QueueError> {
        match self {
            Self::Memory(embedded) => Ok(embedded.topics.register(topic, record)),
            Self::Redis(redis) => RedisTopics::new(redis.link()).register(topic, record).await,
        }
    }

    /// What is known of a topic; `None` if nobody has ever opened it.
    pub(crate) async fn topic(&self, topic: &str) -> Result<Option<TopicRecord>, QueueError> {
        match self {
            Self::Memory(embedded) => Ok(embedded.topics.get(topic)),
            Self::Redis(redis) => RedisTopics::new(redis.link()).get(topic).await,
        }
    }

    /// How a schedule of a topic is defined, if any program has run it.
    pub(super) async fn schedule(&self, topic: &str, name: &str) -> Result<Option<ScheduleRecord>, QueueError> {
        match self {
            Self::Memory(embedded) => Ok(embedded.topics.schedule(topic, name)),
            Self::Redis(redis) => RedisTopics::new(redis.link()).schedule(topic, name).await,
        }
    }

    /// Defines a schedule anew.
    pub(super) async fn define(&self, topic: &str, name: &str, record: &ScheduleRecord) -> Result<(), QueueError> {
        match self {
            Self::Memory(embedded) => {
                embedded.topics.define(topic, name, record);
                Ok(())
            }
            Self::Redis(redis) => RedisTopics::new(redis.link()).define(topic, name, record).await,
        }
    }

    /// Takes or extends the lease under which one process compares the rows of a topic with the store. `None`: another process has
    /// it; else whether it was free. An embedded store has one process.
    #[cfg(feature = "sql")]
    pub(crate) async fn sweep_lease(&self, shard: &Shard, caller: &[u8], ms: u64) -> Result<Option<bool>, QueueError> {
        match self {
            Self::Memory(_) => Ok(Some(false)),
            Self::Redis(redis) => redis.sweep_lease(shard, caller, ms).await,
        }
    }

    /// Every topic that was ever opened, by name.
    pub(crate) async fn topics(&self) -> Result<Vec<(String, TopicRecord)>, QueueError> {
        match self {
            Self::Memory(embedded) => Ok(embedded.topics.all()),
            Self::Redis(redis) => RedisTopics::new(redis.link()).all().await,
        }
    }
}

fn read_topology(topic: &str, entry: &str) -> Result<Topology, QueueError> {
    Topology::read(entry).ok_or_else(|| QueueError::Settings {
        queue: topic.to_owned(),
        reason: format!("its number of shards cannot be read ({entry}); was it written by a newer program?"),
    })
}

/// One step on whichever backend there is.
macro_rules! step {
    ($self:ident, $steps:ident => $call:expr) => {
        match $self {
            QueueStore::Memory(embedded) => {
                let $steps = &embedded.steps;
                $call.await
            }
            QueueStore::Redis($steps) => $call.await,
        }
    };
}

impl QueueSteps for QueueStore {
    async fn enqueue(&self, shard: &Shard, jobs: &[NewJob]) -> Result<Vec<Enqueued>, QueueError> {
        step!(self, steps => steps.enqueue(shard, jobs))
    }

    async fn put(&self, shard: &Shard, puts: &[Put]) -> Result<Vec<PutAnswer>, QueueError> {
        step!(self, steps => steps.put(shard, puts))
    }

    async fn tick(&self, shard: &Shard, tick: &Tick) -> Result<Ticked, QueueError> {
        step!(self, steps => steps.tick(shard, tick))
    }

    async fn settle_and_claim(&self, shard: &Shard, call: &SettleAndClaim) -> Result<Settled, QueueError> {
        step!(self, steps => steps.settle_and_claim(shard, call))
    }

    async fn beat(&self, shard: &Shard, beat: &Beat) -> Result<Vec<bool>, QueueError> {
        step!(self, steps => steps.beat(shard, beat))
    }

    async fn progress(&self, shard: &Shard, receipt: &Receipt, words: Bytes) -> Result<bool, QueueError> {
        step!(self, steps => steps.progress(shard, receipt, words))
    }

    async fn piece(&self, shard: &Shard, id: JobId, from: u64, bytes: u64) -> Result<Bytes, QueueError> {
        step!(self, steps => steps.piece(shard, id, from, bytes))
    }

    async fn revoke(&self, shard: &Shard, ids: &[JobId]) -> Result<Vec<Revoked>, QueueError> {
        step!(self, steps => steps.revoke(shard, ids))
    }

    async fn reschedule(&self, shard: &Shard, changes: &[Reschedule]) -> Result<Vec<Rescheduled>, QueueError> {
        step!(self, steps => steps.reschedule(shard, changes))
    }

    async fn rescue(&self, shard: &Shard, rescue: Rescue) -> Result<Rescued, QueueError> {
        step!(self, steps => steps.rescue(shard, rescue))
    }

    async fn redrive(&self, shard: &Shard, redrive: &Redrive) -> Result<Redriven, QueueError> {
        step!(self, steps => steps.redrive(shard, redrive))
    }

    async fn forget(&self, shard: &Shard, ids: &[JobId]) -> Result<Vec<bool>, QueueError> {
        step!(self, steps => steps.forget(shard, ids))
    }

    async fn delete(&self, shard: &Shard, ids: &[JobId]) -> Result<Vec<bool>, QueueError> {
        step!(self, steps => steps.delete(shard, ids))
    }

    async fn purge(&self, shard: &Shard, state: State, limit: usize) -> Result<u64, QueueError> {
        step!(self, steps => steps.purge(shard, state, limit))
    }

    async fn pause(&self, shard: &Shard, until: Option<u64>) -> Result<(), QueueError> {
        step!(self, steps => steps.pause(shard, until))
    }

    async fn resume(&self, shard: &Shard) -> Result<(), QueueError> {
        step!(self, steps => steps.resume(shard))
    }

    async fn set_limits(&self, shard: &Shard, limits: Limits) -> Result<(), QueueError> {
        step!(self, steps => steps.set_limits(shard, limits))
    }

    async fn job(&self, shard: &Shard, id: JobId) -> Result<Option<Found>, QueueError> {
        step!(self, steps => steps.job(shard, id))
    }

    async fn jobs(&self, shard: &Shard, ids: &[JobId]) -> Result<Vec<Looked>, QueueError> {
        step!(self, steps => steps.jobs(shard, ids))
    }

    async fn heads(&self, shard: &Shard, ids: &[JobId]) -> Result<Vec<Option<Head>>, QueueError> {
        step!(self, steps => steps.heads(shard, ids))
    }

    async fn list(
        &self,
        shard: &Shard,
        state: State,
        after: Option<Listed>,
        limit: usize,
    ) -> Result<Vec<Listed>, QueueError> {
        step!(self, steps => steps.list(shard, state, after, limit))
    }

    async fn stats(&self, shard: &Shard) -> Result<Stats, QueueError> {
        step!(self, steps => steps.stats(shard))
    }

    async fn pop_marker(&self, shard: &Shard) -> Result<bool, QueueError> {
        step!(self, steps => steps.pop_marker(shard))
    }
}

impl GrowSteps for QueueStore {
    async fn close(&self, shard: &Shard, close: Close) -> Result<Inherited, QueueError> {
        step!(self, steps => steps.close(shard, close))
    }

    async fn give(&self, shard: &Shard, items: &[Item]) -> Result<Vec<Given>, QueueError> {
        step!(self, steps => steps.give(shard, items))
    }

    async fn leaving(&self, shard: &Shard, to: u16, limit: usize) -> Result<Vec<Parcel>, QueueError> {
        step!(self, steps => steps.leaving(shard, to, limit))
    }

    async fn adopt(&self, shard: &Shard, from: u16, parcels: &[Parcel]) -> Result<u64, QueueError> {
        step!(self, steps => steps.adopt(shard, from, parcels))
    }

    async fn gone(&self, shard: &Shard, to: u16, sequence: u64) -> Result<u64, QueueError> {
        step!(self, steps => steps.gone(shard, to, sequence))
    }

    async fn ids(&self, shard: &Shard, cursor: u64) -> Result<(Vec<JobId>, u64), QueueError> {
        step!(self, steps => steps.ids(shard, cursor))
    }

    async fn schedules(&self, shard: &Shard) -> Result<Vec<[u8; 16]>, QueueError> {
        step!(self, steps => steps.schedules(shard))
    }
}
