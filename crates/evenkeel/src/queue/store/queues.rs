//! The state that the queues of one keel share.

use super::QueueStore;
use crate::keel::Backend;
use crate::queue::consume::WakeUpListeners;
use crate::queue::sending::durable::DurableConnection;
use evenkeel_link::clock::Clock;
use std::sync::Arc;

/// The state that the queues of one keel share.
pub(crate) struct Queues {
    /// The store of all queues, if the keel keeps its state in memory.
    embedded: QueueStore,
    clock: Clock,
    /// The connection for writes that wait for replicas or a disk.
    pub(crate) durable: DurableConnection,
    /// The wake-up listeners of all consumers of this process.
    pub(crate) listeners: Arc<WakeUpListeners>,
}

impl Queues {
    pub(crate) fn new(clock: Clock) -> Self {
        Self::over(QueueStore::memory(clock.clone()), clock)
    }

    /// Queues on the same embedded store, like those of another process on the same Redis.
    #[cfg(all(feature = "testing", feature = "cache"))]
    pub(crate) fn another_process(&self) -> Self {
        Self::over(self.embedded.clone(), self.clock.clone())
    }

    fn over(embedded: QueueStore, clock: Clock) -> Self {
        Self { embedded, clock, durable: DurableConnection::default(), listeners: Arc::default() }
    }

    /// The store of the jobs.
    pub(crate) fn store(&self, backend: &Backend) -> QueueStore {
        match backend {
            Backend::Memory(_) => self.embedded.clone(),
            Backend::Redis(link) => QueueStore::redis(link.clone(), self.clock.clone()),
        }
    }
}
