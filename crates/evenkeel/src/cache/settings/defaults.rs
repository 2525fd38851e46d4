//! The defaults of the settings of a cache.

use super::checks::check_name;
use super::{Draft, Settings};
use evenkeel_link::support::guard;
use evenkeel_protocol::cache::steps::SPAN_MS_MAX;
use std::time::Duration;

/// The longest refresh window the builder chooses by itself.
const REFRESH_WINDOW_MAX: Duration = Duration::from_secs(2);
/// Default lease and load budget, unless the ttl is too short for them.
pub(super) const LEASE: Duration = Duration::from_millis(500);
const LOAD_BUDGET: Duration = Duration::from_millis(1_500);
/// Half of the link's response time-out for a command: longer than the pause of a large Redis that forks for a snapshot.
const STORE_TIMEOUT: Duration = Duration::from_millis(500);
/// Consecutive failures until the breaker opens, and how long it stays open.
const BREAKER: (u32, Duration) = (3, Duration::from_millis(500));
/// A shorter ttl is a unit error (`Duration::from_nanos(300)` was one in another library).
pub(super) const TTL_MIN: Duration = Duration::from_millis(10);
/// Default length of an update window; it is renewed at a third of this.
const WINDOW: Duration = Duration::from_secs(3);
const TRANSACTION_MAX: Duration = Duration::from_secs(60);
const SUSPECT_TTL: Duration = Duration::from_secs(1);
/// Longer durations are reduced to this, 34 years, which fits the fields of an entry.
pub(super) const SPAN_MAX: Duration = Duration::from_millis(SPAN_MS_MAX);

impl Draft {
    /// The same draft, with all durations reduced to `SPAN_MAX`.
    pub(super) fn shortened(&self) -> Self {
        let mut draft = self.clone();
        for span in [
            &mut draft.ttl,
            &mut draft.absent_ttl,
            &mut draft.lease,
            &mut draft.load_budget,
            &mut draft.load_timeout,
            &mut draft.refresh_window,
            &mut draft.retain_stale,
            &mut draft.fail_safe,
            &mut draft.load_soft_timeout,
            &mut draft.retry_after,
            &mut draft.wait_max,
            &mut draft.store_timeout,
            &mut draft.replay_window,
            &mut draft.window,
            &mut draft.transaction_max,
            &mut draft.suspect_ttl,
            &mut draft.replica_lag_max,
        ] {
            *span = span.map(|span| if guard("cache_spans_shortened") { span.min(SPAN_MAX) } else { span });
        }
        draft.breaker = draft.breaker.map(|(failures, pause)| (failures, pause.min(SPAN_MAX)));
        draft
    }
}

impl Settings {
    /// Fills in the defaults.
    pub(super) fn complete(cache: &str, draft: &Draft) -> Result<Self, String> {
        check_name(cache)?;
        let ttl = draft.ttl.ok_or(
            "no ttl is set, so a value whose invalidation was lost would never expire; set one with ttl(..)".to_owned(),
        )?;
        if ttl < TTL_MIN {
            return Err(format!(
                "a ttl of {ttl:?} is shorter than {TTL_MIN:?}, so every read would be a miss; check its unit"
            ));
        }
        let lease = draft.lease.unwrap_or(LEASE.min(ttl / 8));
        let load_budget = draft.load_budget.unwrap_or(LOAD_BUDGET.min(ttl * 3 / 8));
        let load_timeout = draft.load_timeout.unwrap_or(Duration::from_secs(10).max(load_budget));
        let (breaker_failures, breaker_pause) = draft.breaker.unwrap_or(BREAKER);
        Ok(Self {
            ttl,
            absent_ttl: draft
                .absent_ttl
                .unwrap_or((ttl / 10).clamp(Duration::from_secs(1), Duration::from_secs(30)).min(ttl)),
            ttl_jitter: draft.ttl_jitter.unwrap_or(0.1),
            lease,
            load_budget,
            load_timeout,
            refresh_window: draft.refresh_window.unwrap_or((ttl / 10).min(REFRESH_WINDOW_MAX).max(lease + load_budget)),
            retain_stale: draft.retain_stale.unwrap_or(Duration::ZERO),
            fail_safe: draft.fail_safe,
            load_soft_timeout: draft.load_soft_timeout,
            retry_after: draft.retry_after.unwrap_or(Duration::from_millis(250)),
            wait_max: draft.wait_max.unwrap_or(load_timeout),
            loads_max: draft.loads_max.unwrap_or(64),
            waiters_max: draft.waiters_max.unwrap_or(10_000),
            after_wait: draft.after_wait,
            store_timeout: draft.store_timeout.unwrap_or(STORE_TIMEOUT),
            breaker_failures,
            breaker_pause,
            replay_window: draft.replay_window.unwrap_or(Duration::from_secs(60)),
            replay_max: draft.replay_max.unwrap_or(10_000),
            compress_bytes_min: draft.compress_bytes_min.unwrap_or(4 << 10),
            value_bytes_max: draft.value_bytes_max.unwrap_or(16 << 20),
            schema: draft.schema,
            freshness: draft.freshness,
            while_writing: draft.while_writing,
            window: draft.window.unwrap_or(WINDOW),
            transaction_max: draft.transaction_max.unwrap_or(TRANSACTION_MAX),
            suspect_ttl: draft.suspect_ttl.unwrap_or(SUSPECT_TTL.min(ttl)),
            replica_lag_max: draft.replica_lag_max.unwrap_or_default(),
        })
    }
}
