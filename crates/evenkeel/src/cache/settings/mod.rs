//! The settings of a cache: the values set on the builder, their defaults, and the checks that reject invalid combinations.

pub(crate) mod builder;
pub(crate) mod freshness;
pub(crate) mod log_limit;
pub(crate) mod switches;

use self::freshness::{Freshness, Source, WhileWriting};
use evenkeel_link::support::{guard, ms};
use evenkeel_protocol::cache::error::CacheError;
use evenkeel_protocol::cache::steps::{Mode, SPAN_MS_MAX};
use std::time::Duration;

/// The longest refresh window the builder chooses by itself.
const REFRESH_WINDOW_MAX: Duration = Duration::from_secs(2);
/// Default lease and load budget, unless the ttl is too short for them.
const LEASE: Duration = Duration::from_millis(500);
const LOAD_BUDGET: Duration = Duration::from_millis(1_500);
/// Half of the link's response time-out for a command: longer than the pause of a large Redis that forks for a snapshot.
const STORE_TIMEOUT: Duration = Duration::from_millis(500);
/// Consecutive failures until the breaker opens, and how long it stays open.
const BREAKER: (u32, Duration) = (3, Duration::from_millis(500));
/// A shorter ttl is a unit error (`Duration::from_nanos(300)` was one in another library).
const TTL_MIN: Duration = Duration::from_millis(10);
/// Default length of an update window; it is renewed at a third of this.
const WINDOW: Duration = Duration::from_secs(3);
const TRANSACTION_MAX: Duration = Duration::from_secs(60);
const SUSPECT_TTL: Duration = Duration::from_secs(1);
const NAME_LEN_MAX: usize = 64;
/// Longer durations are reduced to this, 34 years, which fits the fields of an entry.
const SPAN_MAX: Duration = Duration::from_millis(SPAN_MS_MAX);

/// The values set on the builder; `None` selects the default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub(crate) ttl: Option<Duration>,
    pub(crate) absent_ttl: Option<Duration>,
    pub(crate) spread: Option<f64>,
    pub(crate) lease: Option<Duration>,
    pub(crate) load_budget: Option<Duration>,
    pub(crate) load_timeout: Option<Duration>,
    pub(crate) refresh_window: Option<Duration>,
    pub(crate) keep: Option<Duration>,
    pub(crate) fail_safe: Option<Duration>,
    pub(crate) load_soft_timeout: Option<Duration>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) wait_max: Option<Duration>,
    pub(crate) loads_max: Option<usize>,
    pub(crate) waiters_max: Option<usize>,
    pub(crate) after_wait: AfterWait,
    pub(crate) store_timeout: Option<Duration>,
    pub(crate) breaker: Option<(u32, Duration)>,
    pub(crate) replay_window: Option<Duration>,
    pub(crate) replay_max: Option<usize>,
    pub(crate) compress_bytes_min: Option<usize>,
    pub(crate) value_bytes_max: Option<usize>,
    pub(crate) schema: u32,
    pub(crate) freshness: Freshness,
    pub(crate) while_writing: WhileWriting,
    pub(crate) window: Option<Duration>,
    pub(crate) transaction_max: Option<Duration>,
    pub(crate) suspect_ttl: Option<Duration>,
    pub(crate) replica_lag_max: Option<Duration>,
    /// How many replicas of the store must confirm a window, and the time-out for that.
    pub(crate) window_replicas: Option<(u32, Duration)>,
}

/// Consistent settings. [`CacheBuilder`](super::CacheBuilder) documents each of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    pub(crate) ttl: Duration,
    pub(crate) absent_ttl: Duration,
    pub(crate) spread: f64,
    pub(crate) lease: Duration,
    pub(crate) load_budget: Duration,
    pub(crate) load_timeout: Duration,
    pub(crate) refresh_window: Duration,
    pub(crate) keep: Duration,
    /// The maximum age at which an expired value is served when loading fails.
    pub(crate) fail_safe: Option<Duration>,
    /// How long a reader waits for a load if an expired value is available.
    pub(crate) load_soft_timeout: Option<Duration>,
    pub(crate) retry_after: Duration,
    pub(crate) wait_max: Duration,
    pub(crate) loads_max: usize,
    pub(crate) waiters_max: usize,
    pub(crate) after_wait: AfterWait,
    pub(crate) store_timeout: Duration,
    pub(crate) breaker_failures: u32,
    pub(crate) breaker_pause: Duration,
    pub(crate) replay_window: Duration,
    pub(crate) replay_max: usize,
    pub(crate) compress_bytes_min: usize,
    pub(crate) value_bytes_max: usize,
    pub(crate) schema: u32,
    pub(crate) freshness: Freshness,
    pub(crate) while_writing: WhileWriting,
    /// How long an update window stays open unless it is renewed.
    pub(crate) window: Duration,
    /// How long after the expiry of a window its transaction may still commit.
    pub(crate) transaction_max: Duration,
    /// Maximum lifetime of a value that was stored in that time.
    pub(crate) suspect_ttl: Duration,
    /// The maximum replica lag; zero if loaders read the primary.
    pub(crate) replica_lag_max: Duration,
}

/// What a reader does after it has waited for another reader's load for `wait_max`. Set with
/// [`CacheBuilder::after_wait`](super::CacheBuilder::after_wait).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AfterWait {
    /// It loads without storing, if one of the `loads_max` permits is free at once; otherwise it fails with
    /// [`CacheError::Overloaded`]. This is Facebook's rule: a hung loader in another process costs a wait, not an error. Each
    /// such reader of one key takes a permit of its own.
    #[default]
    Load,
    /// It fails with [`CacheError::WaitedTooLong`]: waiting readers do not repeat a slow load.
    Fail,
}

/// The lifetime of a value, counted from its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lifetime {
    /// When a refresh is due.
    pub(crate) soft_ms: u64,
    /// When the value ends.
    pub(crate) hard_ms: u64,
}

impl Draft {
    /// The same draft, with all durations reduced to `SPAN_MAX`.
    fn shortened(&self) -> Self {
        let mut draft = self.clone();
        for span in [
            &mut draft.ttl,
            &mut draft.absent_ttl,
            &mut draft.lease,
            &mut draft.load_budget,
            &mut draft.load_timeout,
            &mut draft.refresh_window,
            &mut draft.keep,
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
    /// Fills in defaults and rejects settings that cannot work.
    pub(crate) fn check(cache: &str, draft: &Draft) -> Result<Self, CacheError> {
        Self::complete(cache, &draft.shortened())
            .and_then(|settings| settings.check_consistency().map(|()| settings))
            .map_err(|reason| CacheError::Settings { cache: cache.to_owned(), reason })
    }

    /// How long the entry must live so that a fill finds it: the load budget, and as much again for the fill command itself.
    pub(crate) fn life_ms(&self) -> u64 {
        ms(self.load_budget.saturating_mul(2).max(self.lease))
    }

    /// The replica lag, as the steps expect it: 0 if loaders read the primary.
    pub(crate) fn lag_ms(&self) -> u64 {
        ms(self.replica_lag_max)
    }

    /// Where a load that accepts `wanted` may read.
    pub(crate) fn source(&self, wanted: Source, needs_primary: bool) -> Source {
        let needs_primary = needs_primary && guard("primary_required");
        if self.replica_lag_max.is_zero() || needs_primary { Source::Primary } else { wanted }
    }

    /// How long the store retains a value after its lease for readers whose load fails.
    pub(crate) fn spare_ms(&self) -> u64 {
        self.fail_safe.map_or(0, ms)
    }

    /// What an invalidation does with the old value. A value that expires at once is useless unless there is a fail-safe.
    pub(crate) fn expiring(&self) -> Mode {
        if self.keep.is_zero() && self.fail_safe.is_none() {
            return Mode::Purge;
        }
        Mode::Expire { keep_ms: ms(self.keep) }
    }

    /// The lifetime of a value stored now. `draw` is uniform in 0..1 and adds jitter, so that values that were stored together
    /// do not expire together.
    pub(crate) fn lifetime(&self, absent: bool, draw: f64) -> Lifetime {
        let ttl = if absent { self.absent_ttl } else { self.ttl };
        let hard = ttl.mul_f64(1.0 + self.spread * (2.0 * draw - 1.0));
        // An absent row may live for less than the refresh window; half its lifetime prevents a refresh at every read.
        let window = if absent { self.refresh_window.min(hard / 2) } else { self.refresh_window };
        Lifetime { soft_ms: ms(hard.saturating_sub(window)), hard_ms: ms(hard) }
    }

    fn complete(cache: &str, draft: &Draft) -> Result<Self, String> {
        check_name(cache)?;
        let ttl = draft.ttl.ok_or(
            "no ttl is set, so the value of a lost invalidation would never expire; set one with ttl(..)".to_owned(),
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
            spread: draft.spread.unwrap_or(0.1),
            lease,
            load_budget,
            load_timeout,
            refresh_window: draft.refresh_window.unwrap_or((ttl / 10).min(REFRESH_WINDOW_MAX).max(lease + load_budget)),
            keep: draft.keep.unwrap_or(Duration::ZERO),
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

    fn check_consistency(&self) -> Result<(), String> {
        if !(0.0..=0.5).contains(&self.spread) {
            return Err(format!(
                "a spread of {} is not between 0.0 and 0.5; it is the jitter as a fraction of the ttl",
                self.spread
            ));
        }
        for (value, what) in [
            (self.lease, "lease"),
            (self.load_budget, "load budget"),
            (self.load_timeout, "load timeout"),
            (self.absent_ttl, "absent ttl"),
            (self.retry_after, "retry_after"),
            (self.wait_max, "wait_max"),
            (self.store_timeout, "store_timeout"),
            (self.breaker_pause, "breaker's pause"),
            (self.window, "write window"),
            (self.transaction_max, "transaction_max"),
            (self.suspect_ttl, "suspect ttl"),
        ] {
            if value < Duration::from_millis(1) {
                return Err(format!("a {what} of {value:?} is shorter than one millisecond; check its unit"));
            }
        }
        for (value, what) in [
            (self.loads_max, "loads_max of 0 would reject every load; allow at least one"),
            (
                self.waiters_max,
                "waiters_max of 0 would reject every reader that finds a running load; allow at least one",
            ),
            (self.value_bytes_max, "value_bytes_max of 0 would store no value; allow at least one byte"),
        ] {
            if value == 0 {
                return Err(format!("a {what}"));
            }
        }
        if self.breaker_failures == 0 {
            return Err("a breaker that opens after 0 failures would never close; allow at least one".to_owned());
        }
        if self.suspect_ttl > self.ttl {
            return Err(format!(
                "the suspect ttl of {:?} is longer than the ttl of {:?}; it must shorten the ttl",
                self.suspect_ttl, self.ttl
            ));
        }
        self.check_lifetimes()?;
        self.check_fail_safe()
    }

    fn check_fail_safe(&self) -> Result<(), String> {
        let longest = self.ttl.mul_f64(1.0 + self.spread);
        match (self.fail_safe, self.load_soft_timeout) {
            (Some(fail_safe), _) if fail_safe <= longest => Err(format!(
                "a fail_safe of {fail_safe:?} is not longer than the longest lifetime of a value, {longest:?}; it counts from the load, so \
                 it would have no effect"
            )),
            (None, Some(_)) => {
                Err("a load_soft_timeout needs a fail_safe; without one there is no value to serve after it".to_owned())
            }
            (_, Some(soft)) if soft < Duration::from_millis(1) || soft >= self.load_timeout => Err(format!(
                "a load_soft_timeout of {soft:?} is not between one millisecond and the load timeout of {:?}",
                self.load_timeout
            )),
            _ => Ok(()),
        }
    }

    fn check_lifetimes(&self) -> Result<(), String> {
        let Self { ttl, lease, load_budget, load_timeout, refresh_window, absent_ttl, .. } = self;
        let lifetime = ttl.mul_f64(1.0 - self.spread);
        if ttl <= lease {
            return Err(format!(
                "the ttl of {ttl:?} is not longer than the lease of {lease:?}; a value would expire as soon as it is loaded"
            ));
        }
        if *load_budget >= lifetime {
            return Err(format!(
                "the load budget of {load_budget:?} does not fit the shortest lifetime of an entry, {lifetime:?}; \
                 a value could expire before it is stored"
            ));
        }
        if load_timeout < load_budget {
            return Err(format!(
                "the load timeout of {load_timeout:?} is shorter than the load budget of {load_budget:?}; a load would be cancelled \
                 while its value may still be stored"
            ));
        }
        if absent_ttl > ttl {
            return Err(format!(
                "the absent ttl of {absent_ttl:?} is longer than the ttl of {ttl:?}; choose at most the ttl"
            ));
        }
        // Zero disables refresh-ahead, and with it the guarantee that depends on the window.
        if !refresh_window.is_zero() && *refresh_window < *load_budget + *lease {
            return Err(format!(
                "the refresh window of {refresh_window:?} is shorter than load budget + lease, {:?}; \
                 an entry could expire during its refresh",
                *load_budget + *lease
            ));
        }
        if *refresh_window >= lifetime {
            return Err(format!(
                "the refresh window of {refresh_window:?} does not fit the shortest lifetime of an entry, {lifetime:?}; \
                 shorten it, the lease or the load budget, or lengthen the ttl"
            ));
        }
        Ok(())
    }
}

/// A name is part of every key. A brace in it would change the hash slot, and a colon could make the keys of two caches equal.
fn check_name(cache: &str) -> Result<(), String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if cache.is_empty() || cache.len() > NAME_LEN_MAX || !cache.bytes().all(is_plain) {
        return Err(format!(
            "the name must be 1 to {NAME_LEN_MAX} letters, digits, `-`, `_` or `.`; it is a part of every key in Redis"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap is the failure the test reports")]

    use super::*;

    fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    fn draft(ttl: Duration) -> Draft {
        Draft { ttl: Some(ttl), ..Draft::default() }
    }

    #[track_caller]
    fn refused(draft: &Draft, because: &str) {
        let error = Settings::check("user", draft).unwrap_err().to_string();
        assert!(error.starts_with("cache `user`: "), "{error}");
        assert!(error.contains(because), "{error}");
        assert!(!error.contains('\n') && error.matches(". ").count() == 0, "one sentence: {error}");
    }

    #[test]
    fn defaults_match_the_documentation() {
        let settings = Settings::check("user", &draft(secs(600))).unwrap();
        assert_eq!(settings.refresh_window, secs(2));
        assert_eq!(settings.lease + settings.load_budget, secs(2));
        assert_eq!((settings.absent_ttl, settings.keep, settings.loads_max), (secs(30), Duration::ZERO, 64));
        for ttl in [secs(20), secs(19), secs(1), TTL_MIN] {
            let settings = Settings::check("user", &draft(ttl)).unwrap();
            assert!(settings.refresh_window >= settings.lease + settings.load_budget, "{ttl:?}");
        }
    }

    #[test]
    fn invalid_cache_settings_are_rejected() {
        let ttl = secs(10);
        refused(&Draft::default(), "no ttl");
        refused(&draft(Duration::from_nanos(300)), "check its unit");
        refused(&Draft { lease: Some(ttl), ..draft(ttl) }, "not longer than the lease");
        refused(
            &Draft { load_budget: Some(secs(9)), ..draft(ttl) },
            "load budget of 9s does not fit the shortest lifetime",
        );
        refused(&Draft { refresh_window: Some(secs(1)), ..draft(ttl) }, "shorter than load budget + lease, 2s");
        refused(&Draft { refresh_window: Some(secs(9)), ..draft(ttl) }, "refresh window of 9s does not fit");
        refused(
            &Draft { load_timeout: Some(secs(1)), ..draft(ttl) },
            "load timeout of 1s is shorter than the load budget",
        );
        refused(&Draft { absent_ttl: Some(secs(11)), ..draft(ttl) }, "absent ttl of 11s is longer than the ttl");
        refused(&Draft { lease: Some(Duration::ZERO), ..draft(ttl) }, "a lease of 0ns");
        refused(&Draft { load_budget: Some(Duration::ZERO), ..draft(ttl) }, "a load budget of 0ns");
        refused(&Draft { load_timeout: Some(Duration::from_nanos(7)), ..draft(ttl) }, "a load timeout of 7ns");
        refused(
            &Draft { absent_ttl: Some(Duration::ZERO), ..draft(ttl) },
            "an absent ttl of 0ns".trim_start_matches("an "),
        );
        refused(&Draft { retry_after: Some(Duration::ZERO), ..draft(ttl) }, "a retry_after of 0ns");
        refused(&Draft { wait_max: Some(Duration::ZERO), ..draft(ttl) }, "a wait_max of 0ns");
        refused(&Draft { spread: Some(0.51), ..draft(ttl) }, "a spread of 0.51");
        refused(&Draft { spread: Some(f64::NAN), ..draft(ttl) }, "a spread of NaN");
        refused(&Draft { fail_safe: Some(secs(11)), ..draft(ttl) }, "a fail_safe of 11s is not longer");
        refused(&Draft { load_soft_timeout: Some(secs(1)), ..draft(ttl) }, "load_soft_timeout needs a fail_safe");
        for soft in [Duration::ZERO, secs(10)] {
            let draft = Draft { fail_safe: Some(secs(60)), load_soft_timeout: Some(soft), ..draft(ttl) };
            refused(&draft, "is not between one millisecond and the load timeout of 10s");
        }
        refused(&Draft { loads_max: Some(0), ..draft(ttl) }, "loads_max of 0");
        refused(&Draft { waiters_max: Some(0), ..draft(ttl) }, "waiters_max of 0");
        refused(&Draft { store_timeout: Some(Duration::ZERO), ..draft(ttl) }, "a store_timeout of 0ns");
        refused(&Draft { breaker: Some((0, secs(1))), ..draft(ttl) }, "a breaker that opens after 0 failures");
        refused(&Draft { breaker: Some((1, Duration::ZERO)), ..draft(ttl) }, "a breaker's pause of 0ns");
        refused(&Draft { value_bytes_max: Some(0), ..draft(ttl) }, "value_bytes_max of 0");
    }

    #[test]
    fn endless_spans_count_as_thirty_four_years() {
        let settings =
            Settings::check("user", &Draft { wait_max: Some(Duration::MAX), ..draft(Duration::MAX) }).unwrap();
        assert_eq!((settings.ttl, settings.wait_max), (SPAN_MAX, SPAN_MAX));
        assert!(settings.lifetime(false, 1.0).hard_ms > SPAN_MS_MAX, "jitter may exceed the limit");
        let refused = Draft { lease: Some(Duration::MAX), ..draft(Duration::MAX) };
        assert!(Settings::check("user", &refused).is_err());
    }

    #[test]
    fn cache_name_cannot_change_the_slot() {
        for name in ["", "a:b", "{a}", "a b", "ü", &"n".repeat(65)] {
            let error = Settings::check(name, &draft(secs(10))).unwrap_err().to_string();
            assert!(error.contains("the name must be"), "{error}");
        }
        Settings::check("user-profile_v2.de", &draft(secs(10))).unwrap();
    }

    #[test]
    fn default_window_grows_with_the_load_budget() {
        let settings = Settings::check("user", &Draft { load_budget: Some(secs(10)), ..draft(secs(600)) }).unwrap();
        assert_eq!(settings.refresh_window, secs(10) + LEASE);
    }

    #[test]
    fn ttl_has_jitter_and_includes_the_refresh_window() {
        let settings = Settings::check("user", &draft(secs(100))).unwrap();
        assert_eq!(settings.lifetime(false, 0.0), Lifetime { soft_ms: 88_000, hard_ms: 90_000 });
        assert_eq!(settings.lifetime(false, 0.5), Lifetime { soft_ms: 98_000, hard_ms: 100_000 });
        assert_eq!(settings.lifetime(true, 0.5), Lifetime { soft_ms: 8_000, hard_ms: 10_000 });
        let brief = Settings::check("user", &Draft { absent_ttl: Some(secs(2)), ..draft(secs(100)) }).unwrap();
        assert_eq!(brief.lifetime(true, 0.5), Lifetime { soft_ms: 1_000, hard_ms: 2_000 });
    }
}
