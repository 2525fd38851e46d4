//! What the queues of one keel share.

use super::consume::Ears;
use super::durable::DurableLane;
use super::redis::RedisQueue;
use super::store::{Embedded, QueueStore};
use crate::clock::Clock;
use crate::keel::Backend;
use std::sync::Arc;

/// The queues of one keel.
pub(crate) struct Queues {
    /// The jobs of all of them, if the keel keeps its state in memory.
    embedded: Arc<Embedded>,
    /// For jobs that wait until replicas or a disk have them.
    pub(super) durable: DurableLane,
    /// Of all consumers of this process.
    pub(super) ears: Arc<Ears>,
}

impl Queues {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { embedded: Arc::new(Embedded::new(clock)), durable: DurableLane::default(), ears: Arc::default() }
    }

    /// Queues over the same embedded store, as those of another process are over the same Redis.
    #[cfg(all(feature = "testing", feature = "cache"))]
    pub(crate) fn another_process(&self) -> Self {
        Self { embedded: Arc::clone(&self.embedded), durable: DurableLane::default(), ears: Arc::default() }
    }

    /// Where the jobs are.
    pub(crate) fn store(&self, backend: &Backend) -> QueueStore {
        match backend {
            Backend::Memory(_) => QueueStore::Memory(Arc::clone(&self.embedded)),
            Backend::Redis(link) => QueueStore::Redis(RedisQueue::new(link.clone())),
        }
    }
}
