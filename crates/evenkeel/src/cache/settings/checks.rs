//! Rejects settings of a cache that cannot work together.

use super::Settings;
use evenkeel_protocol::cache::keys::keys_of_text;
use evenkeel_protocol::cache::steps::SPAN_MS_MAX;
use std::time::Duration;

const NAME_LEN_MAX: usize = 64;
/// Longer keys are refused where they are given as text.
const KEY_BYTES_MAX: usize = 4_096;

impl Settings {
    /// Rejects combinations that cannot work, with one sentence.
    pub(super) fn check_consistency(&self) -> Result<(), String> {
        if !(0.0..=0.5).contains(&self.ttl_jitter) {
            return Err(format!(
                "a ttl_jitter of {} is not between 0.0 and 0.5; it is the jitter as a fraction of the ttl",
                self.ttl_jitter
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
        let longest = self.ttl.mul_f64(1.0 + self.ttl_jitter);
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
        let lifetime = ttl.mul_f64(1.0 - self.ttl_jitter);
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
pub(crate) fn check_name(cache: &str) -> Result<(), String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if cache.is_empty() || cache.len() > NAME_LEN_MAX || !cache.bytes().all(is_plain) {
        return Err(format!(
            "the name must be 1 to {NAME_LEN_MAX} letters, digits, `-`, `_` or `.`; it is a part of every key in Redis"
        ));
    }
    if matches!(cache, "." | "..") {
        return Err("the name must not be `.` or `..`: in an address they are another place".to_owned());
    }
    Ok(())
}

/// The keys that an operator or another program names by a text. An empty one would be an empty hash tag, which no cache writes.
pub(crate) fn keys_named(text: &str) -> Result<Vec<String>, String> {
    if text.is_empty() || text.len() > KEY_BYTES_MAX {
        return Err(format!("the key must have 1 to {KEY_BYTES_MAX} bytes"));
    }
    Ok(keys_of_text(text))
}

/// A time of an invalidation that does not come from the settings of a cache.
pub(crate) fn check_span(ms: u64) -> Result<(), String> {
    if ms > SPAN_MS_MAX {
        return Err("a time is longer than 34 years; check its unit".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap is the failure the test reports")]

    use crate::cache::settings::defaults::{LEASE, SPAN_MAX, TTL_MIN};
    use crate::cache::settings::{Draft, Lifetime, Settings};
    use evenkeel_protocol::cache::steps::SPAN_MS_MAX;
    use std::time::Duration;

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
        assert_eq!((settings.absent_ttl, settings.retain_stale, settings.loads_max), (secs(30), Duration::ZERO, 64));
        for ttl in [secs(20), secs(19), secs(1), TTL_MIN] {
            let settings = Settings::check("user", &draft(ttl)).unwrap();
            assert!(settings.refresh_window >= settings.lease + settings.load_budget, "{ttl:?}");
        }
    }

    // shows: C5, hazard H6, cache::CacheBuilder::open
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
        refused(&Draft { ttl_jitter: Some(0.51), ..draft(ttl) }, "a ttl_jitter of 0.51");
        refused(&Draft { ttl_jitter: Some(f64::NAN), ..draft(ttl) }, "a ttl_jitter of NaN");
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

    // shows: spec/cache.md
    #[test]
    fn endless_spans_count_as_thirty_four_years() {
        let settings =
            Settings::check("user", &Draft { wait_max: Some(Duration::MAX), ..draft(Duration::MAX) }).unwrap();
        assert_eq!((settings.ttl, settings.wait_max), (SPAN_MAX, SPAN_MAX));
        assert!(settings.lifetime(false, 1.0).hard_ms > SPAN_MS_MAX, "jitter may exceed the limit");
        let refused = Draft { lease: Some(Duration::MAX), ..draft(Duration::MAX) };
        assert!(Settings::check("user", &refused).is_err());
    }

    // shows: hazard PO13
    #[test]
    fn cache_name_cannot_change_the_slot() {
        for name in ["", "a:b", "{a}", "a b", "ü", ".", "..", &"n".repeat(65)] {
            let error = Settings::check(name, &draft(secs(10))).unwrap_err().to_string();
            assert!(error.contains("the name must"), "{error}");
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
