//! What a cache tells about itself; docs/metrics.md lists the names. Handles are registered once, when the cache is built, so
//! install the recorder before that.

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use std::sync::Arc;

/// The handles of one cache.
pub(crate) struct CacheMetrics {
    cache: Arc<str>,
    pub(crate) hits: Counter,
    pub(crate) stale_hits: Counter,
    pub(crate) misses: Counter,
    pub(crate) joined: Counter,
    pub(crate) waits: Counter,
    pub(crate) refreshes: Counter,
    pub(crate) loaded: Counter,
    pub(crate) loaded_absent: Counter,
    pub(crate) load_seconds: Histogram,
    pub(crate) fills: Counter,
    pub(crate) admitted: Gauge,
    pub(crate) shed: Counter,
    pub(crate) invalidations: Counter,
    pub(crate) owed: Gauge,
    pub(crate) redriven: Counter,
    pub(crate) forgotten: Counter,
    pub(crate) redrive_success: Gauge,
}

impl CacheMetrics {
    pub(crate) fn register(cache: &str) -> Self {
        let cache: Arc<str> = cache.into();
        // The label's value is shared by all handles.
        let name = || Arc::clone(&cache);
        Self {
            hits: counter!("evenkeel_cache_hits_total", "cache" => name(), "state" => "fresh"),
            stale_hits: counter!("evenkeel_cache_hits_total", "cache" => name(), "state" => "stale"),
            misses: counter!("evenkeel_cache_misses_total", "cache" => name()),
            joined: counter!("evenkeel_cache_waits_total", "cache" => name(), "for" => "flight"),
            waits: counter!("evenkeel_cache_waits_total", "cache" => name(), "for" => "lease"),
            refreshes: counter!("evenkeel_cache_refreshes_total", "cache" => name()),
            loaded: counter!("evenkeel_cache_loads_total", "cache" => name(), "outcome" => "value"),
            loaded_absent: counter!("evenkeel_cache_loads_total", "cache" => name(), "outcome" => "absent"),
            load_seconds: histogram!("evenkeel_cache_load_seconds", "cache" => name()),
            fills: counter!("evenkeel_cache_fills_total", "cache" => name()),
            admitted: gauge!("evenkeel_cache_loads_in_progress", "cache" => name()),
            shed: counter!("evenkeel_cache_shed_total", "cache" => name()),
            invalidations: counter!("evenkeel_cache_invalidations_total", "cache" => name(), "outcome" => "done"),
            owed: gauge!("evenkeel_cache_invalidations_owed", "cache" => name()),
            redriven: counter!("evenkeel_cache_invalidations_redriven_total", "cache" => name()),
            forgotten: counter!("evenkeel_cache_invalidations_forgotten_total", "cache" => name()),
            redrive_success: gauge!("evenkeel_cache_redrive_last_success_seconds", "cache" => name()),
            cache,
        }
    }

    // What follows is rare, so the handle is looked up.

    pub(crate) fn load_failed(&self, outcome: &'static str) {
        counter!("evenkeel_cache_loads_total", "cache" => Arc::clone(&self.cache), "outcome" => outcome).increment(1);
    }

    pub(crate) fn fill_refused(&self, reason: &'static str) {
        counter!("evenkeel_cache_refused_fills_total", "cache" => Arc::clone(&self.cache), "reason" => reason)
            .increment(1);
    }

    pub(crate) fn bypassed(&self, reason: &'static str) {
        counter!("evenkeel_cache_bypasses_total", "cache" => Arc::clone(&self.cache), "reason" => reason).increment(1);
    }

    pub(crate) fn invalidation_failed(&self, outcome: &'static str) {
        counter!("evenkeel_cache_invalidations_total", "cache" => Arc::clone(&self.cache), "outcome" => outcome)
            .increment(1);
    }
}
