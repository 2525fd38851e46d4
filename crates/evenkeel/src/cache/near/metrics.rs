//! The metrics of a near cache; docs/metrics.md lists their names.

use super::Flush;
use metrics::{Counter, Gauge, counter, gauge};
use std::sync::Arc;

/// The metric handles of one near cache.
pub(super) struct NearMetrics {
    cache: Arc<str>,
    pub(super) hits: Counter,
    pub(super) misses: Counter,
    pub(super) silent: Counter,
    pub(super) raced: Counter,
    pub(super) invalidated: Counter,
    pub(super) ended: Counter,
    pub(super) size: Gauge,
}

impl NearMetrics {
    pub(super) fn register(cache: &Arc<str>) -> Self {
        let name = || Arc::clone(cache);
        Self {
            hits: counter!("evenkeel_cache_hits_total", "cache" => name(), "tier" => "near", "state" => "fresh"),
            misses: counter!("evenkeel_cache_near_misses_total", "cache" => name(), "because" => "absent"),
            silent: counter!("evenkeel_cache_near_misses_total", "cache" => name(), "because" => "silent"),
            raced: counter!("evenkeel_cache_near_refused_total", "cache" => name()),
            invalidated: counter!("evenkeel_cache_near_evictions_total", "cache" => name(), "reason" => "invalidated"),
            ended: counter!("evenkeel_cache_near_evictions_total", "cache" => name(), "reason" => "ended"),
            size: gauge!("evenkeel_cache_near_entries", "cache" => name()),
            cache: Arc::clone(cache),
        }
    }

    pub(super) fn evictions(&self, reason: &'static str) -> Counter {
        counter!("evenkeel_cache_near_evictions_total", "cache" => Arc::clone(&self.cache), "reason" => reason)
    }

    pub(super) fn flushed(&self, reason: Flush) {
        let reason = match reason {
            Flush::Epoch => "epoch",
            Flush::Everything => "everything",
        };
        counter!("evenkeel_cache_near_flushes_total", "cache" => Arc::clone(&self.cache), "reason" => reason)
            .increment(1);
    }
}
