//! The limit of concurrent loads of one cache: a flushed Redis must not become an outage of the database.

use crate::cache::metrics::{CacheMetrics, Shed};
use crate::cache::reading::waiters::Waiters;
use evenkeel_link::clock::{Clock, Moment};
use evenkeel_link::support::guard;
use evenkeel_protocol::cache::error::CacheError;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The limit of loads of different keys (loads of one key are one load, see [`SingleFlight`](super::single_flight::SingleFlight)).
pub(crate) struct Admission {
    permits: Arc<Semaphore>,
    limit: usize,
    wait_max: Duration,
    waiters: Arc<Waiters>,
    clock: Clock,
    metrics: Arc<CacheMetrics>,
}

/// A permit to query the database; released when dropped.
pub(crate) struct Admitted {
    _permit: Option<OwnedSemaphorePermit>,
    metrics: Arc<CacheMetrics>,
}

impl Admission {
    pub(crate) fn new(
        limit: usize,
        wait_max: Duration,
        waiters: Arc<Waiters>,
        clock: Clock,
        metrics: Arc<CacheMetrics>,
    ) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(limit.min(Semaphore::MAX_PERMITS))),
            limit,
            wait_max,
            waiters,
            clock,
            metrics,
        }
    }

    /// Waits for a permit, first come first served, until `wait_max` after `began`.
    pub(crate) async fn enter(&self, began: Moment) -> Result<Admitted, CacheError> {
        if !guard("admission_bound") {
            return Ok(self.admit(None));
        }
        if let Some(admitted) = self.try_enter() {
            return Ok(admitted);
        }
        let _waiter = self.waiters.enter()?;
        self.metrics.waited_for_turn.increment(1);
        let wait_max = self.wait_max.saturating_sub(self.clock.now().since(began));
        match self.clock.timeout(wait_max, Arc::clone(&self.permits).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(self.admit(Some(permit))),
            // The semaphore is never closed, so this is the time-out.
            Ok(Err(_)) | Err(_) => {
                self.metrics.shed(Shed::Turn);
                Err(CacheError::Overloaded { limit: self.limit, waited: self.clock.now().since(began) })
            }
        }
    }

    /// A permit if one is free now and no reader waits for it.
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
