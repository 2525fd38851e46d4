//! The metrics of a cache; docs/metrics.md lists their names. The handles are registered once, when the cache is built, so
//! install the recorder before that.

use crate::process::counted::Counted;
use evenkeel_protocol::process::report::CacheReport;
use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

metrics! {
    /// The metric handles of one cache.
    pub(crate) struct CacheMetrics(cache) {
        pub(crate) hits: Counted =
            Counted::new(counter!("evenkeel_cache_hits_total", "cache" => cache(), "tier" => "store", "state" => "fresh"));
        pub(crate) stale_hits: Counted =
            Counted::new(counter!("evenkeel_cache_hits_total", "cache" => cache(), "tier" => "store", "state" => "stale"));
        pub(crate) misses: Counted = Counted::new(counter!("evenkeel_cache_misses_total", "cache" => cache()));
        pub(crate) undecodable: Counter = counter!("evenkeel_cache_undecodable_total", "cache" => cache());
        pub(crate) joined: Counter = counter!("evenkeel_cache_waits_total", "cache" => cache(), "for" => "single_flight");
        pub(crate) waits: Counter = counter!("evenkeel_cache_waits_total", "cache" => cache(), "for" => "lease");
        pub(crate) waited_for_turn: Counter = counter!("evenkeel_cache_waits_total", "cache" => cache(), "for" => "permit");
        pub(crate) waiting: Gauge = gauge!("evenkeel_cache_waiting", "cache" => cache());
        pub(crate) woken: Counter = counter!("evenkeel_cache_wakes_total", "cache" => cache());
        pub(crate) refreshes: Counter = counter!("evenkeel_cache_refreshes_total", "cache" => cache());
        pub(crate) rescued_failed: Counter =
            counter!("evenkeel_cache_rescues_total", "cache" => cache(), "reason" => "failed");
        pub(crate) rescued_slow: Counter =
            counter!("evenkeel_cache_rescues_total", "cache" => cache(), "reason" => "slow");
        pub(crate) loaded: Counted =
            Counted::new(counter!("evenkeel_cache_loads_total", "cache" => cache(), "outcome" => "value"));
        pub(crate) loaded_absent: Counted =
            Counted::new(counter!("evenkeel_cache_loads_total", "cache" => cache(), "outcome" => "absent"));
        pub(crate) load_seconds: Histogram = histogram!("evenkeel_cache_load_seconds", "cache" => cache());
        pub(crate) fills: Counter = counter!("evenkeel_cache_fills_total", "cache" => cache());
        pub(crate) admitted: Gauge = gauge!("evenkeel_cache_loads_in_progress", "cache" => cache());
        pub(crate) invalidations: Counter =
            counter!("evenkeel_cache_invalidations_total", "cache" => cache(), "outcome" => "done");
        pub(crate) pending_count: Gauge = gauge!("evenkeel_cache_invalidations_pending", "cache" => cache());
        pub(crate) replayed: Counter = counter!("evenkeel_cache_invalidations_replayed_total", "cache" => cache());
        pub(crate) forgotten: Counter = counter!("evenkeel_cache_invalidations_forgotten_total", "cache" => cache());
        pub(crate) replay_success: Gauge = gauge!("evenkeel_cache_replay_last_success_seconds", "cache" => cache());
        pub(crate) breaker_state: Gauge = gauge!("evenkeel_cache_breaker_state", "cache" => cache());
        pub(crate) breaker_opens: Counter = counter!("evenkeel_cache_breaker_opens_total", "cache" => cache());
        staleness: Histogram = histogram!("evenkeel_cache_staleness_seconds", "cache" => cache());
        pub(crate) loads_failed: Family =
            Family::register("evenkeel_cache_loads_total", "outcome", cache(), &["error", "panic", "timeout"]);
        pub(crate) refused_fills: Family = Family::register("evenkeel_cache_refused_fills_total", "reason", cache(), REFUSALS);
        pub(crate) bypasses: Family = Family::register("evenkeel_cache_bypasses_total", "reason", cache(), BYPASSES);
        pub(crate) invalidations_failed: Family = Family::register("evenkeel_cache_invalidations_total", "outcome", cache(), UNDONE);
        shed: Family = Family::register("evenkeel_cache_shed_total", "reason", cache(), &["turn", "waiters", "wait_max"]);
        pub(crate) windows: Family = Family::register("evenkeel_cache_windows_total", "outcome", cache(), WINDOWS);
        has_logged_over_budget: AtomicBool = AtomicBool::new(false);
    }
}

/// Why a reader was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shed {
    /// It got no permit to load in time.
    Turn,
    /// Too many readers were waiting already.
    Waiters,
    /// It waited for another reader's load for `wait_max`, and the cache is configured to fail then.
    WaitMax,
}

/// Counters of one name that differ in one label.
pub(crate) struct Family {
    name: &'static str,
    label: &'static str,
    cache: Arc<str>,
    counters: Vec<(&'static str, Counter)>,
    total: AtomicU64,
}

impl CacheMetrics {
    /// Whether this is the first load whose value came too late to be stored. Only that one is logged.
    pub(crate) fn is_first_over_budget(&self) -> bool {
        !self.has_logged_over_budget.swap(true, Relaxed)
    }

    pub(crate) fn shed(&self, why: Shed) {
        self.shed.count(match why {
            Shed::Turn => "turn",
            Shed::Waiters => "waiters",
            Shed::WaitMax => "wait_max",
        });
    }

    /// The totals for the report of this process.
    pub(crate) fn report(&self, cache: &str, near_hits: u64) -> CacheReport {
        let mut report = CacheReport::default();
        cache.clone_into(&mut report.cache);
        report.stale_hits = self.stale_hits.total();
        report.hits = self.hits.total().saturating_add(report.stale_hits);
        report.near_hits = near_hits;
        report.misses = self.misses.total();
        report.loads = self.loaded.total().saturating_add(self.loaded_absent.total());
        report.loads_failed = self.loads_failed.total.load(Relaxed);
        report.shed = self.shed.total.load(Relaxed);
        report
    }

    /// Records that a value was served that is known not to be the newest.
    pub(crate) fn served_stale(&self, age: Duration) {
        self.staleness.record(age.as_secs_f64());
    }
}

/// Why a loaded value was not stored.
const REFUSALS: &[&str] = &[
    "superseded",
    "below_floor",
    "gone",
    "over_budget",
    "epoch",
    "codec",
    "store_unavailable",
    "bypassed",
    "other_keys",
];

/// Outcomes of invalidations that have not been applied yet.
const UNDONE: &[&str] = &["failed", "unknown", "deferred"];

/// Outcomes of update windows, and of attempts to open one.
const WINDOWS: &[&str] = &["closed", "expired", "unconfirmed", "abandoned", "busy", "refused"];

/// Why a load bypasses the store.
const BYPASSES: &[&str] = &[
    "store_unavailable",
    "store_refuses",
    "invalidation_pending",
    "other_schema",
    "undecodable",
    "waited_too_long",
    "writing",
    "reads_bypassed",
    "fills_bypassed",
];

impl Family {
    fn register(name: &'static str, label: &'static str, cache: Arc<str>, values: &[&'static str]) -> Self {
        let counter = |value: &'static str| (value, counter!(name, "cache" => Arc::clone(&cache), label => value));
        let (counters, total) = (values.iter().map(|value| counter(value)).collect(), AtomicU64::new(0));
        Self { name, label, counters, cache, total }
    }

    pub(crate) fn count(&self, value: &'static str) {
        self.total.fetch_add(1, Relaxed);
        match self.counters.iter().find(|(known, _)| *known == value) {
            Some((_, counter)) => counter.increment(1),
            None => counter!(self.name, "cache" => Arc::clone(&self.cache), self.label => value).increment(1),
        }
    }
}
