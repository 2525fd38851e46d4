//! The limit of readers that wait at the same time: a hanging load must not accumulate every request of the program.

use crate::cache::metrics::{CacheMetrics, Shed};
use evenkeel_link::support::guard;
use evenkeel_protocol::cache::error::CacheError;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The limit of waiting readers of one cache, which wait for another reader's load or for a permit to load.
pub(crate) struct Waiters {
    now: AtomicUsize,
    limit: usize,
    metrics: Arc<CacheMetrics>,
}

/// A counted waiter; released when dropped.
pub(crate) struct WaiterSlot<'a>(&'a Waiters);

impl Waiters {
    pub(crate) fn new(limit: usize, metrics: Arc<CacheMetrics>) -> Self {
        Self { now: AtomicUsize::new(0), limit, metrics }
    }

    /// Counts a waiter, unless the limit is reached: one more reader would not be served sooner than those that wait already.
    pub(crate) fn enter(&self) -> Result<WaiterSlot<'_>, CacheError> {
        let before = self.now.fetch_add(1, Relaxed);
        self.metrics.waiting.increment(1.0);
        let slot = WaiterSlot(self);
        if before >= self.limit && guard("waiters_bound") {
            drop(slot);
            self.metrics.shed(Shed::Waiters);
            return Err(CacheError::Busy { limit: self.limit });
        }
        Ok(slot)
    }
}

impl Drop for WaiterSlot<'_> {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Relaxed);
        self.0.metrics.waiting.decrement(1.0);
    }
}
