//! The steps of all queues of a keel, over whatever it keeps its state in; and the register of its topics.

pub(crate) mod queues;

use crate::queue::sharding::shards::Shards;
use evenkeel_link::Link;
use evenkeel_link::clock::Clock;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::grow::GrowSteps;
use evenkeel_protocol::queue::memory::MemoryQueue;
use evenkeel_protocol::queue::redis::RedisQueue;
use evenkeel_protocol::queue::register::{MemoryTopics, RedisTopics, TopicRegister};
use evenkeel_protocol::queue::topology::Topology;
use std::ops::Deref;
use std::sync::Arc;

/// The namespace of keys in an embedded store, which no other program shares.
const MEMORY_PREFIX: &str = "evenkeel";

/// Where the jobs of a keel are. Cheap to clone.
#[derive(Clone)]
pub(crate) struct QueueStore {
    steps: Arc<dyn GrowSteps>,
    topics: Arc<dyn TopicRegister>,
    /// `None`: in this process.
    link: Option<Link>,
    clock: Clock,
}

/// The steps of the queues.
impl Deref for QueueStore {
    type Target = dyn GrowSteps;
    fn deref(&self) -> &Self::Target {
        &*self.steps
    }
}

impl QueueStore {
    /// In this process.
    pub(crate) fn memory(clock: Clock) -> Self {
        let (steps, topics) = (Arc::new(MemoryQueue::new(clock.clone())), Arc::<MemoryTopics>::default());
        Self { steps, topics, link: None, clock }
    }

    /// On the Redis that `link` reaches.
    pub(crate) fn redis(link: Link, clock: Clock) -> Self {
        let (steps, topics) = (Arc::new(RedisQueue::new(link.clone())), Arc::new(RedisTopics::new(link.clone())));
        Self { steps, topics, link: Some(link), clock }
    }

    /// The steps, to be touched as other programs touch those of a Redis.
    #[cfg(feature = "testing")]
    pub(crate) fn steps(&self) -> Arc<dyn GrowSteps> {
        Arc::clone(&self.steps)
    }

    /// The register of the topics.
    pub(crate) fn topics(&self) -> &dyn TopicRegister {
        &*self.topics
    }

    /// The link to Redis, if that is where the jobs are.
    pub(crate) fn link(&self) -> Option<&Link> {
        self.link.as_ref()
    }

    /// Whether a job that is written to one is found in the other.
    #[cfg(feature = "sql")]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&self.link, &other.link) {
            (None, None) => Arc::ptr_eq(&self.steps, &other.steps),
            (Some(here), Some(there)) => here.has_store_of(there),
            _ => false,
        }
    }

    /// The store's own time in ms, as well as it is known here.
    pub(crate) fn now_ms(&self) -> u64 {
        self.link.as_ref().map_or_else(|| self.clock.unix_ms(), Link::server_now_ms)
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
        match self.topics.grown(topic).await? {
            None => Ok(Topology::of(first)),
            Some(entry) => read_topology(topic, &entry),
        }
    }

    /// Moves the topology of a topic on, unless it is another one than the caller has seen. Answers what it is then.
    pub(crate) async fn grow(&self, topic: &str, seen: &Topology, next: &Topology) -> Result<Topology, QueueError> {
        // A topic that has never grown has no entry.
        let entry = |topology: &Topology| if topology.has_grown() { topology.to_string() } else { String::new() };
        let held = self.topics.grow(topic, &entry(seen), &entry(next)).await?;
        if held.is_empty() { Ok(seen.clone()) } else { read_topology(topic, &held) }
    }
}

fn read_topology(topic: &str, entry: &str) -> Result<Topology, QueueError> {
    Topology::read(entry).ok_or_else(|| QueueError::Settings {
        queue: topic.to_owned(),
        reason: format!("its number of shards cannot be read ({entry}); was it written by a newer program?"),
    })
}
