//! What the locks of one keel share.

use super::gate::Gates;
use super::memory::MemoryLock;
use super::metrics::LockMetrics;
use super::reaper::Reaper;
use super::redis::RedisLock;
use super::store::LockStore;
use crate::clock::Clock;
use crate::keel::Backend;
use crate::token::Token;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// The locks of one keel. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Locks(Arc<Inner>);

pub(crate) struct Inner {
    pub(super) store: LockStore,
    pub(super) clock: Clock,
    /// Names this process where several wait.
    pub(super) process: Token,
    pub(super) gates: Arc<Gates>,
    pub(super) reaper: Arc<Reaper>,
    pub(super) metrics: LockMetrics,
}

impl Locks {
    pub(crate) fn new(backend: &Backend, clock: Clock) -> Self {
        let store = match backend {
            Backend::Memory(_) => LockStore::Memory(MemoryLock::new(clock.clone())),
            Backend::Redis(link) => LockStore::Redis(RedisLock::new(link.clone())),
        };
        Self::over(store, clock)
    }

    /// Locks over the same store, as those of another process.
    #[cfg(all(feature = "testing", feature = "cache"))]
    pub(crate) fn another_process(&self) -> Self {
        Self::over(self.store.clone(), self.clock.clone())
    }

    /// Waits until what was dropped is given back, for at most `deadline`.
    pub(crate) async fn drain(&self, deadline: Duration) {
        if self.clock.timeout(deadline, self.reaper.drained(&self.store)).await.is_err() {
            tracing::warn!("some locks were not given back in time; they end with their leases");
        }
    }

    fn over(store: LockStore, clock: Clock) -> Self {
        let reaper = Arc::new(Reaper::new(clock.clone()));
        let (process, gates, metrics) = (Token::random(), Arc::default(), LockMetrics::register());
        Self(Arc::new(Inner { store, clock, process, gates, reaper, metrics }))
    }
}

impl Deref for Locks {
    type Target = Inner;
    fn deref(&self) -> &Inner {
        &self.0
    }
}
