//! Storing a loaded value. A fill is an optimization: it is dropped whenever it might be wrong, and a metric counts the reason.

use super::lease::HeldLease;
use super::payload::Packed;
use super::single_flight::Completion;
use crate::cache::core::Core;
use crate::cache::reading::found::Found;
use crate::cache::settings::freshness::Source;
use bytes::Bytes;
use evenkeel_link::LinkError;
use evenkeel_link::support::{guard, ms};
use evenkeel_protocol::cache::error::CacheError;
use evenkeel_protocol::cache::steps::{Fill, Filled};
use std::sync::atomic::Ordering::Relaxed;

/// The outcome of a fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FillOutcome {
    Stored,
    /// An invalidation arrived during the load.
    Overtaken,
    /// The database has a newer version than the loaded one. The lease may still exist.
    Outdated,
    /// It was not stored, and the lease may still exist.
    Dropped,
    /// Unknown, because the store does not reply; the lease is left to expire.
    Unanswered,
}

impl<V: 'static> Core<V> {
    /// Stores a value, or returns why it was not stored.
    pub(crate) async fn fill(&self, lease: &HeldLease, completion: &Completion<V>, found: &Found<V>) -> FillOutcome {
        // Sent even if an invalidation of this process has excluded new readers from this load: the store decides whether the
        // invalidation came before the lease or after it. A load that began between an invalidation and its reply is valid, and
        // readers wait for it.
        let took = self.clock.now().since(lease.sent);
        if guard("load_budget") && took > self.settings.load_budget {
            if self.metrics.is_first_over_budget() && guard("cache_budget_logged") {
                let budget = self.settings.load_budget;
                tracing::warn!(
                    cache = %self.name, ?took, ?budget,
                    "a load took longer than the load budget, so its value is not cached; if this happens often, raise \
                     CacheBuilder::load_budget (logged once)"
                );
            }
            return self.refused("over_budget", FillOutcome::Dropped);
        }
        if self.bypass_fills.load(Relaxed) && guard("bypassed_fill") {
            return self.refused("bypassed", FillOutcome::Dropped);
        }
        let packed = match found.value.as_deref().map(|value| self.payloads.pack(value)).transpose() {
            Ok(packed) => packed,
            Err(error) => {
                self.log_unstorable(completion.key(), &error);
                return self.refused("codec", FillOutcome::Dropped);
            }
        };
        // A failover may have lost the invalidation that would reject this fill, and kept the lease.
        let epoch = lease.epoch.as_ref().filter(|_| guard("fill_epoch"));
        if guard("fill_epoch") && !epoch.is_some_and(|epoch| epoch.is_current(&self.store)) {
            return self.refused("epoch", FillOutcome::Dropped);
        }
        match self.store.fill(epoch, completion.key(), &self.filling(lease, found.version, packed)).await {
            Ok(Filled::Stored) => {
                self.metrics.fills.increment(1);
                FillOutcome::Stored
            }
            Ok(Filled::Superseded) => self.refused("superseded", FillOutcome::Overtaken),
            Ok(Filled::BelowFloor) => self.refused("below_floor", FillOutcome::Outdated),
            Ok(Filled::Gone) => self.refused("gone", FillOutcome::Dropped),
            Err(CacheError::Link(LinkError::EpochOver)) => self.refused("epoch", FillOutcome::Dropped),
            Err(CacheError::Link(LinkError::Down { .. } | LinkError::RuntimeEnded | LinkError::NoAnswer { .. })) => {
                self.refused("store_unavailable", FillOutcome::Unanswered)
            }
            Err(_) => self.refused("store_unavailable", FillOutcome::Dropped),
        }
    }

    fn filling(&self, lease: &HeldLease, version: Option<u64>, packed: Option<Packed>) -> Fill {
        let absent = packed.is_none();
        let Packed { codec, compression, payload } =
            packed.unwrap_or(Packed { codec: 0, compression: 0, payload: Bytes::new() });
        let lifetime = self.settings.lifetime(absent, rand::random());
        let replica_lag_ms = if lease.source == Source::Replica { self.settings.lag_ms() } else { 0 };
        Fill {
            grant: lease.grant,
            version,
            absent,
            codec,
            compression,
            payload,
            soft_ms: lifetime.soft_ms,
            hard_ms: lifetime.hard_ms,
            spare_ms: self.settings.spare_ms(),
            suspect_ms: ms(self.settings.suspect_ttl),
            replica_lag_ms,
        }
    }

    fn refused(&self, reason: &'static str, fate: FillOutcome) -> FillOutcome {
        self.metrics.refused_fills.count(reason);
        fate
    }
}
