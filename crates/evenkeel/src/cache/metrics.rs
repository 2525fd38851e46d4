//! The metrics of a cache; docs/metrics.md lists their names. The handles are registered once, when the cache is built, so
//! install the recorder before that.

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// The metric handles of one cache.
pub(crate) struct CacheMetrics {
    pub(crate) hits: Counter,
    pub(crate) stale_hits: Counter,
    pub(crate) misses: Counter,
    pub(crate) undecodable: Counter,
    pub(crate) joined: Counter,
    pub(crate) waits: Counter,
    pub(crate) waited_for_turn: Counter,
    pub(crate) waiting: Gauge,
    pub(crate) woken: Counter,
    pub(crate) refreshes: Counter,
    pub(crate) rescued_failed: Counter,
    pub(crate) rescued_slow: Counter,
    pub(crate) loaded: Counter,
    pub(crate) loaded_absent: Counter,
    pub(crate) load_seconds: Histogram,
    pub(crate) fills: Counter,
    pub(crate) admitted: Gauge,
    pub(crate) invalidations: Counter,
    pub(crate) pending_count: Gauge,
    pub(crate) replayed: Counter,
    pub(crate) forgotten: Counter,
    pub(crate) replay_success: Gauge,
    pub(crate) breaker_state: Gauge,
    pub(crate) breaker_opens: Counter,
    staleness: Histogram,
    loads_failed: Family,
    refused_fills: Family,
    bypasses: Family,
    invalidations_failed: Family,
    shed: Family,
    windows: Family,
    has_logged_over_budget: AtomicBool,
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
struct Family {
    name: &'static str,
    label: &'static str,
    cache: Arc<str>,
    counters: Vec<(&'static str, Counter)>,
}

impl CacheMetrics {
    pub(crate) fn register(cache: &str) -> Self {
        let cache: Arc<str> = cache.into();
        // All handles share the value of the label.
        let name = || Arc::clone(&cache);
        let hits =
            |state| counter!("evenkeel_cache_hits_total", "cache" => name(), "tier" => "store", "state" => state);
        let waits = |what| counter!("evenkeel_cache_waits_total", "cache" => name(), "for" => what);
        let rescues = |because| counter!("evenkeel_cache_rescues_total", "cache" => name(), "because" => because);
        let loads = |outcome| counter!("evenkeel_cache_loads_total", "cache" => name(), "outcome" => outcome);
        let family = |name, label, values| Family::register(name, label, &cache, values);
        Self {
            hits: hits("fresh"),
            stale_hits: hits("stale"),
            misses: counter!("evenkeel_cache_misses_total", "cache" => name()),
            undecodable: counter!("evenkeel_cache_undecodable_total", "cache" => name()),
            joined: waits("flight"),
            waits: waits("lease"),
            waited_for_turn: waits("turn"),
            waiting: gauge!("evenkeel_cache_waiting", "cache" => name()),
            woken: counter!("evenkeel_cache_wakes_total", "cache" => name()),
            refreshes: counter!("evenkeel_cache_refreshes_total", "cache" => name()),
            rescued_failed: rescues("failed"),
            rescued_slow: rescues("slow"),
            loaded: loads("value"),
            loaded_absent: loads("absent"),
            load_seconds: histogram!("evenkeel_cache_load_seconds", "cache" => name()),
            fills: counter!("evenkeel_cache_fills_total", "cache" => name()),
            admitted: gauge!("evenkeel_cache_loads_in_progress", "cache" => name()),
            invalidations: counter!("evenkeel_cache_invalidations_total", "cache" => name(), "outcome" => "done"),
            pending_count: gauge!("evenkeel_cache_invalidations_pending", "cache" => name()),
            replayed: counter!("evenkeel_cache_invalidations_replayed_total", "cache" => name()),
            forgotten: counter!("evenkeel_cache_invalidations_forgotten_total", "cache" => name()),
            replay_success: gauge!("evenkeel_cache_redrive_last_success_seconds", "cache" => name()),
            breaker_state: gauge!("evenkeel_cache_breaker_state", "cache" => name()),
            breaker_opens: counter!("evenkeel_cache_breaker_opens_total", "cache" => name()),
            staleness: histogram!("evenkeel_cache_staleness_seconds", "cache" => name()),
            loads_failed: family("evenkeel_cache_loads_total", "outcome", &["error", "panic", "timeout"]),
            refused_fills: family("evenkeel_cache_refused_fills_total", "reason", REFUSALS),
            bypasses: family("evenkeel_cache_bypasses_total", "reason", BYPASSES),
            invalidations_failed: family("evenkeel_cache_invalidations_total", "outcome", UNDONE),
            windows: family("evenkeel_cache_windows_total", "outcome", WINDOWS),
            shed: family("evenkeel_cache_shed_total", "reason", &["turn", "waiters", "wait_max"]),
            has_logged_over_budget: AtomicBool::new(false),
        }
    }

    pub(crate) fn load_failed(&self, outcome: &'static str) {
        self.loads_failed.count(outcome);
    }

    pub(crate) fn fill_refused(&self, reason: &'static str) {
        self.refused_fills.count(reason);
    }

    /// Whether this is the first load whose value came too late to be stored. Only that one is logged.
    pub(crate) fn is_first_over_budget(&self) -> bool {
        !self.has_logged_over_budget.swap(true, Relaxed)
    }

    pub(crate) fn bypassed(&self, reason: &'static str) {
        self.bypasses.count(reason);
    }

    pub(crate) fn window_ended(&self, outcome: &'static str) {
        self.windows.count(outcome);
    }

    pub(crate) fn invalidation_failed(&self, outcome: &'static str) {
        self.invalidations_failed.count(outcome);
    }

    pub(crate) fn shed(&self, why: Shed) {
        self.shed.count(match why {
            Shed::Turn => "turn",
            Shed::Waiters => "waiters",
            Shed::WaitMax => "wait_max",
        });
    }

    /// Records that a value was served that is known not to be the newest.
    pub(crate) fn served_stale(&self, age: Duration) {
        self.staleness.record(age.as_secs_f64());
    }
}

/// Why a loaded value was not stored.
const REFUSALS: &[&str] =
    &["superseded", "below_floor", "gone", "over_budget", "epoch", "codec", "store_away", "bypassed"];

/// Outcomes of invalidations that have not been applied yet.
const UNDONE: &[&str] = &["failed", "unknown", "deferred"];

/// Outcomes of update windows, and of attempts to open one.
const WINDOWS: &[&str] = &["closed", "expired", "unconfirmed", "abandoned", "busy", "refused"];

/// Why a load bypasses the store.
const BYPASSES: &[&str] = &[
    "store_away",
    "invalidation_pending",
    "other_schema",
    "undecodable",
    "waited_too_long",
    "writing",
    "reads_bypassed",
    "fills_bypassed",
];

impl Family {
    fn register(name: &'static str, label: &'static str, cache: &Arc<str>, values: &[&'static str]) -> Self {
        let cache = Arc::clone(cache);
        let counter = |value: &'static str| (value, counter!(name, "cache" => Arc::clone(&cache), label => value));
        Self { name, label, counters: values.iter().map(|value| counter(value)).collect(), cache }
    }

    fn count(&self, value: &'static str) {
        match self.counters.iter().find(|(known, _)| *known == value) {
            Some((_, counter)) => counter.increment(1),
            None => counter!(self.name, "cache" => Arc::clone(&self.cache), self.label => value).increment(1),
        }
    }
}
