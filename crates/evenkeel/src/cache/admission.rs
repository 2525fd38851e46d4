//! How many loads of one cache run at once: a flushed Redis must not become an outage of the database.

use super::error::CacheError;
use super::metrics::CacheMetrics;
use crate::clock::Clock;
use crate::guard::guard;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

/// The bound on loads of different keys (loads of one key are one load, see [`Flights`](super::flight::Flights)).
pub(crate) struct Admission {
    permits: Semaphore,
    limit: usize,
    clock: Clock,
    metrics: Arc<CacheMetrics>,
}

/// The right to ask the database; given back when dropped.
pub(crate) struct Admitted<'a> {
    _permit: Option<SemaphorePermit<'a>>,
    metrics: &'a CacheMetrics,
}

impl Admission {
    pub(crate) fn new(limit: usize, clock: Clock, metrics: Arc<CacheMetrics>) -> Self {
        Self { permits: Semaphore::new(limit), limit, clock, metrics }
    }

    /// Waits for a turn, first come first served, for at most `patience`.
    pub(crate) async fn enter(&self, patience: Duration) -> Result<Admitted<'_>, CacheError> {
        if !guard("admission_bound") {
            return Ok(self.admit(None));
        }
        match self.clock.timeout(patience, self.permits.acquire()).await {
            Ok(Ok(permit)) => Ok(self.admit(Some(permit))),
            // The semaphore is never closed, so this is the time that ran out.
            Ok(Err(_)) | Err(_) => {
                self.metrics.shed.increment(1);
                Err(CacheError::Overloaded { limit: self.limit, waited: patience })
            }
        }
    }

    /// A turn if one is free now, and nobody waits for it.
    pub(crate) fn try_enter(&self) -> Option<Admitted<'_>> {
        let permit = self.permits.try_acquire().ok()?;
        Some(self.admit(Some(permit)))
    }

    fn admit<'a>(&'a self, permit: Option<SemaphorePermit<'a>>) -> Admitted<'a> {
        self.metrics.admitted.increment(1.0);
        Admitted { _permit: permit, metrics: &self.metrics }
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        self.metrics.admitted.decrement(1.0);
    }
}
