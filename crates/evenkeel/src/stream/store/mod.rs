//! The steps of all streams of a keel, on Redis or in memory, and the register of streams.

pub(crate) mod streams;

use evenkeel_link::clock::Clock;
use evenkeel_link::support::TOGETHER_MAX;
use evenkeel_link::{Link, LinkState};
use evenkeel_protocol::stream::name::Partition;
use evenkeel_protocol::stream::register::{MemoryStreams, RedisStreams, StreamRegister};
use evenkeel_protocol::stream::{StreamBackend, StreamError};
use std::ops::Deref;
use std::sync::Arc;

/// The key prefix in an embedded store, which no other program shares.
const MEMORY_PREFIX: &str = "evenkeel";

/// The store of a keel's streams. Cheap to clone.
#[derive(Clone)]
pub(crate) struct StreamStore {
    backend: StreamBackend,
    register: Arc<dyn StreamRegister>,
    clock: Clock,
}

/// Derefs to what runs the steps of the streams.
impl Deref for StreamStore {
    type Target = StreamBackend;
    fn deref(&self) -> &StreamBackend {
        &self.backend
    }
}

impl StreamStore {
    /// A store in the memory of this process.
    pub(crate) fn memory(clock: Clock) -> Self {
        let backend = StreamBackend::memory(clock.clone());
        Self { backend, register: Arc::<MemoryStreams>::default(), clock }
    }

    /// A store on the Redis of `link`.
    pub(crate) fn redis(link: Link, clock: Clock) -> Self {
        let register = Arc::new(RedisStreams::new(link.clone()));
        Self { backend: StreamBackend::redis(link), register, clock }
    }

    /// The register of the streams.
    pub(crate) fn register(&self) -> &dyn StreamRegister {
        &*self.register
    }

    /// What runs the steps, for tests that act as another program on the same store.
    #[cfg(feature = "testing")]
    pub(crate) fn steps(&self) -> StreamBackend {
        self.backend.clone()
    }

    /// Whether the other one has the same streams.
    #[cfg(feature = "sql")]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.backend.is_same(&other.backend)
    }

    /// How many steps of a batch run at once.
    pub(crate) fn together_max(&self) -> usize {
        self.link().map_or(TOGETHER_MAX, Link::together_max)
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
