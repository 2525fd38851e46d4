//! How many loads of one cache run at once: a flushed Redis must not become an outage of the database.

use super::error::CacheError;
use super::metrics::CacheMetrics;
use crate::clock::Clock;
use crate::guard::guard;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The bound on loads of different keys (loads of one key are one load, see [`Flights`](super::flight::Flights)).
pub(crate) struct Admission {
    permits: Arc<Semaphore>,
    limit: usize,
    clock: Clock,
    metrics: Arc<CacheMetrics>,
}

/// The right to ask the database; given back when dropped.
pub(crate) struct Admitted {
    _permit: Option<OwnedSemaphorePermit>,
    metrics: Arc<CacheMetrics>,
}

impl Admission {
    pub(crate) fn new(limit: usize, clock: Clock, metrics: Arc<CacheMetrics>) -> Self {
        Self { permits: Arc::new(Semaphore::new(limit)), limit, clock, metrics }
    }

    /// Waits for a turn, first come first served, for at most `patience`.
    pub(crate) async fn enter(&self, patience: Duration) -> Result<Admitted, CacheError> {
        if !guard("admission_bound") {
            return Ok(self.admit(None));
        }
        match self.clock.timeout(patience, Arc::clone(&self.permits).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(self.admit(Some(permit))),
            // The semaphore is never closed, so this is the time that ran out.
            Ok(Err(_)) | Err(_) => {
                self.metrics.shed.increment(1);
                Err(CacheError::Overloaded { limit: self.limit, waited: patience })
            }
        }
    }

    /// A turn if one is free now, and nobody waits for it.
    pub(crate) fn try_enter(&self) -> Option<Admitted> {
        let permit = Arc::clone(&self.permits).try_acquire_owned().ok()?;
        Some(self.admit(Some(permit)))
    }

    fn admit(&self, permit: Option<OwnedSemaphorePermit>) -> Admitted {
        self.metrics.admitted.increment(1.0);
        Admitted { _permit: permit, metrics: Arc::clone(&self.metrics) }
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.metrics.admitted.decrement(1.0);
    }
}
