//! What the queues of one keel share.

use super::QueueStore;
use crate::keel::Backend;
use crate::queue::consume::Ears;
use crate::queue::sending::durable::DurableLane;
use evenkeel_link::clock::Clock;
use std::sync::Arc;

/// The queues of one keel.
pub(crate) struct Queues {
    /// The jobs of all of them, if the keel keeps its state in memory.
    embedded: QueueStore,
    clock: Clock,
    /// For jobs that wait until replicas or a disk have them.
    pub(crate) durable: DurableLane,
    /// Of all consumers of this process.
    pub(crate) ears: Arc<Ears>,
}

impl Queues {
    pub(crate) fn new(clock: Clock) -> Self {
        Self::over(QueueStore::memory(clock.clone()), clock)
    }

    /// Queues over the same embedded store, as those of another process are over the same Redis.
    #[cfg(all(feature = "testing", feature = "cache"))]
    pub(crate) fn another_process(&self) -> Self {
        Self::over(self.embedded.clone(), self.clock.clone())
    }

    fn over(embedded: QueueStore, clock: Clock) -> Self {
        Self { embedded, clock, durable: DurableLane::default(), ears: Arc::default() }
    }

    /// Where the jobs are.
    pub(crate) fn store(&self, backend: &Backend) -> QueueStore {
        match backend {
            Backend::Memory(_) => self.embedded.clone(),
            Backend::Redis(link) => QueueStore::redis(link.clone(), self.clock.clone()),
        }
    }
}
