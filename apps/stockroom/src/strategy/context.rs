//! [`StrategyContext`]: locks and limits that the strategies share.

use super::pauses::Pauses;
use crate::domain::Strategy;
use evenkeel::Keel;
use evenkeel::lock::{LockBuilder, LockError, LockTerms, Redlock, StripedLock};
use std::time::Duration;

/// Name of the striped lock of all products.
const STRIPES_NAME: &str = "stock-stripes";

/// Locks and limits that the strategies share. Cheap to clone.
#[derive(Clone)]
pub struct StrategyContext {
    /// Limit of a product's stock.
    pub cap: i64,
    /// Number of segments of a split stock.
    pub segments: i64,
    /// Maximum number of attempts of one change.
    pub attempts_max: u32,
    /// The lease, the maximum hold time and the wait of locks.
    pub lock_terms: LockTerms,
    /// Where tests and the load test pause changes.
    pub pauses: Pauses,
    /// The servers for `redlock`, if configured.
    pub redlock: Option<Redlock>,
    keel: Keel,
    striped: StripedLock,
}

impl StrategyContext {
    /// A context with defaults for everything else. All products share `stripes` locks under `striped`.
    ///
    /// # Errors
    /// [`LockError::Invalid`] if the number of stripes is invalid.
    pub fn new(keel: Keel, stripes: u32) -> Result<Self, LockError> {
        let striped = keel.striped_lock(STRIPES_NAME, stripes)?;
        let (lease, hold_max) = (Duration::from_secs(10), Duration::from_secs(60));
        Ok(Self {
            cap: 1_000,
            segments: 8,
            attempts_max: 64,
            lock_terms: LockTerms::default().ttl(lease).max_hold(hold_max).wait(lease),
            pauses: Pauses::default(),
            redlock: None,
            keel,
            striped,
        })
    }

    /// Whether the servers of a strategy are configured.
    pub(crate) fn supports(&self, strategy: Strategy) -> bool {
        strategy != Strategy::Redlock || self.redlock.is_some()
    }

    pub(super) fn keel(&self) -> &Keel {
        &self.keel
    }

    /// The lock of a product.
    pub(super) fn lock(&self, commodity: i64) -> LockBuilder {
        self.with_terms(self.keel.lock(&format!("stock/{commodity}")))
    }

    /// The lock of a product on the servers for `redlock`.
    pub(super) fn redlock(&self, commodity: i64) -> Option<LockBuilder> {
        self.redlock.as_ref().map(|redlock| self.with_terms(redlock.lock(&format!("stock-redlock/{commodity}"))))
    }

    /// The lock that a product shares with others.
    pub(super) fn stripe(&self, commodity: i64) -> LockBuilder {
        self.with_terms(self.striped.lock(&commodity.to_be_bytes()))
    }

    /// The lock of the demonstration, which no other strategy uses.
    pub(super) fn unfenced(&self, commodity: i64) -> LockBuilder {
        self.with_terms(self.keel.lock(&format!("stock-unfenced/{commodity}")))
    }

    fn with_terms(&self, lock: LockBuilder) -> LockBuilder {
        lock.terms(self.lock_terms.clone())
    }
}
