//! The settings of a cache.
//!
//! [`builder`] opens the cache. The methods of the builder stand in one file for each section of its documentation: `lifetime`,
//! `loading`, `writes`, `outage`, `values`, and those of the near cache in `near/settings.rs`. `defaults` has the default of each setting,
//! `checks` rejects combinations that cannot work.

pub(crate) mod builder;
mod lifetime;
mod loading;
mod outage;
mod values;
mod writes;

pub(crate) mod checks;
mod defaults;
pub(crate) mod freshness;
pub(crate) mod log_limit;

use self::freshness::{Freshness, Source, WhileWriting};
use evenkeel_link::support::{guard, ms};
use evenkeel_protocol::cache::error::CacheError;
use evenkeel_protocol::cache::steps::Mode;
use std::time::Duration;

/// The values set on the builder; `None` selects the default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub(crate) ttl: Option<Duration>,
    pub(crate) absent_ttl: Option<Duration>,
    pub(crate) ttl_jitter: Option<f64>,
    pub(crate) lease: Option<Duration>,
    pub(crate) load_budget: Option<Duration>,
    pub(crate) load_timeout: Option<Duration>,
    pub(crate) refresh_window: Option<Duration>,
    pub(crate) retain_stale: Option<Duration>,
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
    pub(crate) ttl_jitter: f64,
    pub(crate) lease: Duration,
    pub(crate) load_budget: Duration,
    pub(crate) load_timeout: Duration,
    pub(crate) refresh_window: Duration,
    pub(crate) retain_stale: Duration,
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

    /// Where a load that accepts `requested` may read.
    pub(crate) fn source(&self, requested: Source, needs_primary: bool) -> Source {
        let needs_primary = needs_primary && guard("primary_required");
        if self.replica_lag_max.is_zero() || needs_primary { Source::Primary } else { requested }
    }

    /// How long the store retains a value after its lease for readers whose load fails.
    pub(crate) fn spare_ms(&self) -> u64 {
        self.fail_safe.map_or(0, ms)
    }

    /// What an invalidation does with the old value. A value that expires at once is useless unless there is a fail-safe.
    pub(crate) fn expiring(&self) -> Mode {
        if self.retain_stale.is_zero() && self.fail_safe.is_none() {
            return Mode::Purge;
        }
        Mode::Expire { retain_ms: ms(self.retain_stale) }
    }

    /// The lifetime of a value stored now. `draw` is uniform in 0..1 and adds jitter, so that values that were stored together
    /// do not expire together.
    pub(crate) fn lifetime(&self, absent: bool, draw: f64) -> Lifetime {
        let ttl = if absent { self.absent_ttl } else { self.ttl };
        let hard = ttl.mul_f64(1.0 + self.ttl_jitter * (2.0 * draw - 1.0));
        // An absent row may live for less than the refresh window; half its lifetime prevents a refresh at every read.
        let window = if absent { self.refresh_window.min(hard / 2) } else { self.refresh_window };
        Lifetime { soft_ms: ms(hard.saturating_sub(window)), hard_ms: ms(hard) }
    }
}
