//! The steps of all queues of a keel, on Redis or in memory, and the register of its topics.

pub(crate) mod queues;

use crate::queue::sharding::shards::Shards;
use evenkeel_link::clock::Clock;
use evenkeel_link::{Link, LinkState};
use evenkeel_protocol::queue::QueueBackend;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::register::{MemoryTopics, RedisTopics, TopicRegister};
use evenkeel_protocol::queue::topology::Topology;
use std::ops::Deref;
use std::sync::Arc;

/// The key prefix in an embedded store, which no other program shares.
const MEMORY_PREFIX: &str = "evenkeel";

/// The store of a keel's jobs. Cheap to clone.
#[derive(Clone)]
pub(crate) struct QueueStore {
    backend: QueueBackend,
    topics: Arc<dyn TopicRegister>,
    clock: Clock,
}

/// Derefs to what runs the steps of the queues.
impl Deref for QueueStore {
    type Target = QueueBackend;
    fn deref(&self) -> &Self::Target {
        &self.backend
    }
}

impl QueueStore {
    /// A store in the memory of this process.
    pub(crate) fn memory(clock: Clock) -> Self {
        Self { backend: QueueBackend::memory(clock.clone()), topics: Arc::<MemoryTopics>::default(), clock }
    }

    /// A store on the Redis of `link`.
    pub(crate) fn redis(link: Link, clock: Clock) -> Self {
        Self { topics: Arc::new(RedisTopics::new(link.clone())), backend: QueueBackend::redis(link), clock }
    }

    /// What runs the steps, for tests that act as another program on the same store.
    #[cfg(feature = "testing")]
    pub(crate) fn steps(&self) -> QueueBackend {
        self.backend.clone()
    }

    /// The register of the topics.
    pub(crate) fn topics(&self) -> &dyn TopicRegister {
        &*self.topics
    }

    /// Whether the link was shut down: no call is answered any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.link().is_some_and(|link| *link.state().borrow() == LinkState::Closed)
    }

    /// The estimated time of the store, in ms since 1970.
    pub(crate) fn now_ms(&self) -> u64 {
        self.link().map_or_else(|| self.clock.unix_ms(), Link::server_now_ms)
    }

    /// The prefix of all keys.
    pub(crate) fn prefix(&self) -> &str {
        self.link().map_or(MEMORY_PREFIX, Link::prefix)
    }

    /// The shards of a topic.
    pub(crate) fn shards(&self, topic: &str, topology: &Topology) -> Shards {
        Shards::new(self.prefix(), topic, topology)
    }

    /// The topology of a topic that was opened first with `first` shards.
    pub(crate) async fn topology(&self, topic: &str, first: u16) -> Result<Topology, QueueError> {
        match self.topics.grown(topic).await? {
            None => Ok(Topology::of(first)),
            Some(entry) => read_topology(topic, &entry),
        }
    }

    /// Compare-and-set of a topic's topology: stores `next` if it still equals `seen`. Returns the topology that is stored then.
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
        reason: format!("its number of shards cannot be read ({entry}); a newer program may have written it"),
    })
}
