//! The steps of all streams of a keel, on Redis or in memory, and the register of streams.

pub(crate) mod streams;

use evenkeel_link::clock::Clock;
use evenkeel_link::{Link, LinkState};
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::Partition;
use evenkeel_protocol::stream::register::{MemoryStreams, RedisStreams, StreamRegister};
use evenkeel_protocol::stream::{MemoryStream, RedisStream, StreamError, StreamSteps};
use std::ops::Deref;
use std::sync::Arc;

/// The key prefix in an embedded store, which no other program shares.
const MEMORY_PREFIX: &str = "evenkeel";

/// The store of a keel's streams. Cheap to clone.
#[derive(Clone)]
pub(crate) struct StreamStore {
    steps: Arc<dyn StreamSteps>,
    register: Arc<dyn StreamRegister>,
    place: Place,
    clock: Clock,
}

#[derive(Clone)]
enum Place {
    Memory(MemoryStream),
    Redis(Link),
}

/// Derefs to the steps of the streams.
impl Deref for StreamStore {
    type Target = dyn StreamSteps;
    fn deref(&self) -> &Self::Target {
        &*self.steps
    }
}

impl StreamStore {
    /// A store in the memory of this process.
    pub(crate) fn memory(clock: Clock) -> Self {
        let steps = MemoryStream::new(clock.clone());
        let register = Arc::<MemoryStreams>::default();
        Self { steps: Arc::new(steps.clone()), register, place: Place::Memory(steps), clock }
    }

    /// A store on the Redis of `link`.
    pub(crate) fn redis(link: Link, clock: Clock) -> Self {
        let register = Arc::new(RedisStreams::new(link.clone()));
        Self { steps: Arc::new(RedisStream::new(link.clone())), register, place: Place::Redis(link), clock }
    }

    /// The register of the streams.
    pub(crate) fn register(&self) -> &dyn StreamRegister {
        &*self.register
    }

    /// The steps, for tests that act as another program on the same store.
    #[cfg(feature = "testing")]
    pub(crate) fn steps(&self) -> Arc<dyn StreamSteps> {
        Arc::clone(&self.steps)
    }

    /// Whether the other one has the same streams.
    #[cfg(feature = "sql")]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&self.place, &other.place) {
            (Place::Memory(_), Place::Memory(_)) => Arc::ptr_eq(&self.steps, &other.steps),
            (Place::Redis(here), Place::Redis(there)) => here.has_store_of(there),
            _ => false,
        }
    }

    /// The link to Redis, if the streams are there.
    pub(crate) fn link(&self) -> Option<&Link> {
        match &self.place {
            Place::Memory(_) => None,
            Place::Redis(link) => Some(link),
        }
    }

    /// Waits in an embedded store until the log has an entry after this one.
    pub(crate) async fn grown(&self, partition: &Partition, after: EntryId) {
        match &self.place {
            Place::Memory(steps) => steps.grown(partition, after).await,
            Place::Redis(_) => std::future::pending().await,
        }
    }

    /// Whether the link was shut down: no call is answered any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.link().is_some_and(|link| *link.state().borrow() == LinkState::Closed)
    }

    /// The estimated time of the store, in ms since 1970.
    pub(crate) fn now_ms(&self) -> u64 {
        self.link().map_or_else(|| self.clock.unix_ms(), Link::server_now_ms)
    }

    /// The partitions of a stream.
    pub(crate) fn partitions(&self, stream: &str, count: u16) -> Result<Vec<Partition>, StreamError> {
        let prefix = self.link().map_or(MEMORY_PREFIX, Link::prefix);
        (0..count).map(|number| Partition::new(prefix, stream, number)).collect()
    }
}
