//! [`Tools`]: what the strategies work with.

use super::stalls::Stalls;
use crate::domain::Strategy;
use evenkeel::Keel;
use evenkeel::lock::{LockBuilder, LockError, Redlock, StripedLock};
use std::time::Duration;

/// The name under which all products share their stripes.
const STRIPES_NAME: &str = "stock-stripes";

/// How locks are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockTerms {
    /// How long a lock stays taken after its holder has died.
    pub ttl: Duration,
    /// How long it may be held in all.
    pub max_hold: Duration,
    /// How long a change waits for it.
    pub wait: Duration,
}

impl Default for LockTerms {
    fn default() -> Self {
        Self { ttl: Duration::from_secs(10), max_hold: Duration::from_secs(60), wait: Duration::from_secs(10) }
    }
}

/// What the strategies work with. Cheap to clone.
#[derive(Clone)]
pub struct Tools {
    /// The most there may be of a product.
    pub cap: i64,
    /// Over how many segments a stock is split.
    pub segments: i64,
    /// How often a change is tried before the caller is told to try again.
    pub attempts_max: u32,
    /// How locks are taken.
    pub terms: LockTerms,
    /// Where changes are held up, if they are.
    pub stalls: Stalls,
    /// Locks over several independent servers, if there are any.
    pub redlock: Option<Redlock>,
    keel: Keel,
    striped: StripedLock,
}

impl Tools {
    /// Tools on one Redis, or in the process. `stripes` locks are shared by all products.
    ///
    /// # Errors
    /// [`LockError::Invalid`] if there can be no such number of stripes.
    pub fn new(keel: Keel, stripes: u32) -> Result<Self, LockError> {
        let striped = keel.striped_lock(STRIPES_NAME, stripes)?;
        let terms = LockTerms::default();
        Ok(Self {
            cap: 1_000,
            segments: 8,
            attempts_max: 64,
            terms,
            stalls: Stalls::default(),
            redlock: None,
            keel,
            striped,
        })
    }

    /// Whether there is what a strategy needs.
    pub(crate) fn can(&self, strategy: Strategy) -> bool {
        strategy != Strategy::Redlock || self.redlock.is_some()
    }

    /// The lock of one product.
    pub(super) fn lock(&self, commodity: i64) -> LockBuilder {
        self.on_terms(self.keel.lock(&format!("stock/{commodity}")))
    }

    /// What retries are made with.
    pub(super) fn keel(&self) -> &Keel {
        &self.keel
    }

    /// The lock of one product on several servers.
    pub(super) fn redlock(&self, commodity: i64) -> Option<LockBuilder> {
        self.redlock.as_ref().map(|redlock| self.on_terms(redlock.lock(&format!("stock-redlock/{commodity}"))))
    }

    /// The lock that a product shares with some others.
    pub(super) fn stripe(&self, commodity: i64) -> LockBuilder {
        self.on_terms(self.striped.lock(&commodity.to_be_bytes()))
    }

    /// A lock that only the demonstration takes, so that it disturbs nobody else's.
    pub(super) fn unfenced(&self, commodity: i64) -> LockBuilder {
        self.on_terms(self.keel.lock(&format!("stock-unfenced/{commodity}")))
    }

    fn on_terms(&self, lock: LockBuilder) -> LockBuilder {
        lock.ttl(self.terms.ttl).max_hold(self.terms.max_hold).wait(self.terms.wait)
    }
}
