//! The read policy: decides which values satisfy a read, from the near cache to another reader's load.

use super::found::{Found, Stale};
use crate::cache::loading::single_flight::{Known, Tick};
use crate::cache::settings::freshness::{Freshness, Source};
use evenkeel_link::support::{guard, ms};
use evenkeel_protocol::cache::error::CacheError;
use evenkeel_protocol::cache::header::{Value, Verdict};
use evenkeel_protocol::cache::steps::Why;
use std::time::Duration;

/// The policy of one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadPolicy(Freshness);

/// What to do with a value of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Serve,
    /// Serve it and load in the background.
    ServeAndLoad(Why),
    /// Load. [`ReadPolicy::rescue`] decides which value is served if the load fails.
    Load(Why),
}

impl ReadPolicy {
    #[inline]
    pub(crate) fn new(freshness: Freshness) -> Self {
        Self(freshness)
    }

    /// Rejects a freshness that this cache cannot provide.
    pub(crate) fn check(self, has_versions: bool, is_fenced: bool) -> Result<Self, CacheError> {
        match self.0 {
            Freshness::AtLeast(_) if !has_versions => Err(CacheError::Unsupported(
                "Freshness::AtLeast compares versions; set the version function of the cache with version(..)",
            )),
            Freshness::Fresh if !is_fenced => Err(CacheError::Unsupported(
                "Freshness::Fresh needs the fenced protocol; other protocols have no update windows",
            )),
            _ => Ok(self),
        }
    }

    /// Whether a near value that has not been invalidated satisfies the read.
    #[inline]
    pub(crate) fn accepts_near(self, age: Duration, version: Option<u64>) -> bool {
        match self.0 {
            Freshness::Fresh => !guard("fresh_goes_past_near"),
            _ => self.accepts(age, version),
        }
    }

    /// Whether a valid value of this age and version satisfies the read.
    #[inline]
    fn accepts(self, age: Duration, version: Option<u64>) -> bool {
        match self.0 {
            Freshness::Bounded(age_max) => age <= age_max || !guard("bounded_age"),
            Freshness::AtLeast(requested) => {
                version.is_some_and(|version| version >= requested) || !guard("at_least_version")
            }
            _ => true,
        }
    }

    /// What to do with a stored value that some readers may be served. `serves_stale`: the cache has a `retain_stale`; the value may be
    /// retained by a program that has one although this one has none.
    pub(crate) fn decide(self, value: &Value, verdict: Verdict, now_ms: u64, serves_stale: bool) -> Decision {
        let age = Duration::from_millis(now_ms.saturating_sub(value.loaded_at_ms));
        if !self.accepts(age, value.version) {
            return Decision::Load(self.why(Why::Miss));
        }
        match verdict {
            Verdict::Hit => Decision::Serve,
            Verdict::Due => Decision::ServeAndLoad(Why::Refresh),
            Verdict::Stale if self.accepts_stale(serves_stale) => Decision::ServeAndLoad(Why::Stale),
            Verdict::Stale => Decision::Load(self.why(Why::Stale)),
            Verdict::Miss => Decision::Load(self.why(Why::Miss)),
        }
    }

    fn accepts_stale(self, serves_stale: bool) -> bool {
        match self.0 {
            Freshness::Fresh => !guard("fresh_refuses_stale"),
            Freshness::StaleIfError(_) => !guard("stale_only_if_error"),
            Freshness::StaleWhileRevalidate => true,
            _ => serves_stale,
        }
    }

    /// The reason for a load: a value that another process has stored meanwhile replaces the load only if it satisfies this
    /// read.
    pub(crate) fn why(self, plain: Why) -> Why {
        match self.0 {
            Freshness::Bounded(age_max) => Why::Older(ms(age_max)),
            Freshness::AtLeast(version) => Why::Below(version),
            _ => plain,
        }
    }

    /// The source from which this read's own load may read, if nothing else requires the primary.
    pub(crate) fn source(self) -> Source {
        match self.0 {
            Freshness::Fresh | Freshness::AtLeast(_) => Source::Primary,
            _ => Source::Replica,
        }
    }

    /// Whether another reader's loaded value satisfies a read that began at `began`: only if it reflects every invalidation
    /// acknowledged before that. A load that began at the primary after the read did is as good as the read's own, whatever its
    /// age and version.
    pub(crate) fn accepts_shared<V>(self, found: &Found<V>, known: Known, began: Tick) -> bool {
        let is_confirmed = match self.0 {
            Freshness::Fresh => {
                (known.at > began && known.source == Source::Primary) || !guard("fresh_joins_nothing_older")
            }
            _ => known.at > began || !guard("joins_nothing_older"),
        };
        is_confirmed && (known.read_at > began || self.accepts(found.age, found.version))
    }

    /// The maximum age at which an otherwise insufficient value is served if loading a better one fails. `fail_safe` is the
    /// cache's setting. Nothing extends it: the age counts from the load of the value.
    fn rescue_age_max(self, fail_safe: Option<Duration>) -> Option<Duration> {
        match self.0 {
            Freshness::StaleIfError(age_max) => Some(age_max),
            Freshness::Eventual | Freshness::StaleWhileRevalidate => fail_safe,
            Freshness::Fresh | Freshness::Bounded(_) | Freshness::AtLeast(_) => None,
        }
    }

    /// Whether a value of this age may be served if loading fails.
    pub(crate) fn may_rescue(self, age: Duration, fail_safe: Option<Duration>) -> bool {
        self.rescue_age_max(fail_safe).is_some_and(|age_max| age <= age_max || !guard("fail_safe_bound"))
    }

    /// The value that is served instead of a better one, marked with the reason.
    pub(crate) fn rescue<V>(self, found: Found<V>, fail_safe: Option<Duration>, why: Stale) -> Option<Found<V>> {
        self.may_rescue(found.age, fail_safe).then_some(Found { stale: Some(why), ..found })
    }

    /// Whether an expired value of this age is served at once while the new one is loaded.
    pub(crate) fn allows_expired(self, age: Duration, fail_safe: Option<Duration>) -> bool {
        self.0 == Freshness::StaleWhileRevalidate && self.may_rescue(age, fail_safe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_read_is_not_served_from_the_near_cache() {
        let now = Duration::ZERO;
        assert!(!ReadPolicy::new(Freshness::Fresh).accepts_near(now, Some(7)));
        assert!(ReadPolicy::new(Freshness::Eventual).accepts_near(Duration::from_secs(600), None));
        let bounded = ReadPolicy::new(Freshness::Bounded(Duration::from_secs(1)));
        assert!(bounded.accepts_near(Duration::from_secs(1), None));
        assert!(!bounded.accepts_near(Duration::from_millis(1_001), None));
        let at_least = ReadPolicy::new(Freshness::AtLeast(7));
        assert!(at_least.accepts_near(now, Some(7)));
        assert!(!at_least.accepts_near(now, Some(6)) && !at_least.accepts_near(now, None));
    }
}
