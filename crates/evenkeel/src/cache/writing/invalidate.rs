//! An invalidation, from its request to the reply of the store.

use super::ledger::Demand;
use crate::cache::core::Core;
use crate::cache::key::KeyBytes;
use evenkeel_link::support::guard;
use evenkeel_protocol::cache::error::CacheError;

/// The result of a successful invalidation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Invalidated {
    /// The store has applied it: the result of every load that began before it will be rejected.
    Done,
    /// The store could not be reached, and the spool of this process has stored the invalidation
    /// ([`KeelBuilder::spool`](crate::KeelBuilder), feature `spool`). It is replayed until it succeeds, by this process or, if
    /// this process dies, by the next one that opens this cache with that folder. Until then other processes may serve the
    /// older value.
    Deferred,
    /// As `Done`, and the store had no entry. Only [`CacheAdmin`](super::super::admin::CacheAdmin) says this, because an operator may have
    /// mistyped a name; for a program an entry that is not stored is nothing special.
    NoEntry,
}

impl Invalidated {
    /// The weaker of two results.
    pub(crate) fn and(self, other: Self) -> Self {
        if self == Self::Done { other } else { self }
    }
}

impl<V: 'static> Core<V> {
    /// What an invalidation without a version demands of the store, by the settings of the cache.
    pub(crate) fn expiring_demand(&self) -> Demand {
        Demand { mode: self.settings.expiring(), floor: None, lag_ms_max: self.settings.lag_ms() }
    }

    /// Excludes new readers from the running load of the key, sends the invalidation, and excludes them again: a load that
    /// began in between may have found a value that was stored before the store applied the invalidation.
    pub(crate) async fn invalidate(&self, key: KeyBytes, demand: Demand) -> Result<Invalidated, CacheError> {
        let key = key.as_slice();
        let pending = self.replayer.begin(key, demand);
        if guard("single_flight_cut_at_send") {
            self.calls.close(key);
        }
        let invalidation = pending.demand().invalidation();
        let answer = self.store.invalidate(key, &invalidation).await;
        if guard("single_flight_cut_at_answer") {
            self.calls.close(key);
        }
        match answer {
            Ok(()) => {
                pending.done();
                self.metrics.invalidations.increment(1);
                Ok(Invalidated::Done)
            }
            Err(error) => {
                let is_kept = pending.defer().await;
                // The store would reject a deferred copy of this invalidation as well, so the caller must receive the error.
                if is_kept && error.is_retryable() {
                    self.metrics.invalidations_failed.count("deferred");
                    return Ok(Invalidated::Deferred);
                }
                self.metrics.invalidations_failed.count(if error.outcome_unknown() { "unknown" } else { "failed" });
                Err(error)
            }
        }
    }
}
