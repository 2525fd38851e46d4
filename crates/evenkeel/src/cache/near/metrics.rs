//! The metrics of a near cache; docs/metrics.md lists their names.

use super::Flush;
use crate::process::counted::Striped;
use metrics::{Counter, Gauge, counter, gauge};
use std::sync::Arc;

metrics! {
    /// The metric handles of one near cache.
    pub(super) struct NearMetrics(cache) {
        cache: Arc<str> = cache();
        pub(super) hits: Striped =
            Striped::new(counter!("evenkeel_cache_hits_total", "cache" => cache(), "tier" => "near", "state" => "fresh"));
        pub(super) misses: Counter =
            counter!("evenkeel_cache_near_misses_total", "cache" => cache(), "reason" => "absent");
        pub(super) silent: Counter =
            counter!("evenkeel_cache_near_misses_total", "cache" => cache(), "reason" => "silent");
        pub(super) raced: Counter = counter!("evenkeel_cache_near_refused_total", "cache" => cache());
        pub(super) invalidated: Counter =
            counter!("evenkeel_cache_near_evictions_total", "cache" => cache(), "reason" => "invalidated");
        pub(super) ended: Counter =
            counter!("evenkeel_cache_near_evictions_total", "cache" => cache(), "reason" => "ended");
        pub(super) size: Gauge = gauge!("evenkeel_cache_near_entries", "cache" => cache());
    }
}

impl NearMetrics {
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
