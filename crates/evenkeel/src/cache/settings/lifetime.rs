//! The settings of [`CacheBuilder`] that say how long values live.

use super::builder::CacheBuilder;
use std::time::Duration;

/// # Lifetime
///
/// How long values live, and how long outdated ones may be served. Durations; [`ttl_jitter`](Self::ttl_jitter) is a fraction.
impl<K: ?Sized, V, C> CacheBuilder<K, V, C> {
    setters! {
        /// The lifetime of a value, counted from before the row was read; nothing extends it. It limits how long a lost
        /// invalidation leaves a stale value. Required. If programs use one cache with different lifetimes, a value lives as long as the
        /// program that stored it says, and the difference is not reported.
        pub fn ttl(ttl: Duration) => draft.ttl = Some(ttl);

        /// How long the absence of a row is cached. Default: a tenth of the ttl, between 1 s and 30 s. An insert must invalidate
        /// its key like any other write.
        pub fn absent_ttl(ttl: Duration) => draft.absent_ttl = Some(ttl);

        /// The jitter of each ttl, as a fraction of it, up and down, so that rows that were loaded together do not expire together.
        /// Default 0.1; 0 to 0.5.
        pub fn ttl_jitter(part: f64) => draft.ttl_jitter = Some(part);

        /// How long before a value expires a read refreshes it in the background. Default: a tenth of the ttl, at most 2 s, but never
        /// less than lease + load budget. A key that is read continuously then never misses because of expiry (C5). Zero disables it:
        /// readers wait for a load once per ttl.
        pub fn refresh_window(window: Duration) => draft.refresh_window = Some(window);

        /// How long a value may be served as stale after [`Cache::invalidate`](crate::cache::Cache::invalidate) while one reader loads the new one. Default zero:
        /// readers wait for that load. With a longer time no reader waits, but a reader may see invalidated values for this long,
        /// including values from before its own writes. A program without it is served no invalidated value, also if another program that
        /// uses the cache retains one; among programs with different times, that of the program that invalidates applies.
        pub fn retain_stale(retain_stale: Duration) => draft.retain_stale = Some(retain_stale);

        /// The maximum age (counted from its load, not from its end) at which a value may be served instead of an error, if it has
        /// ended or was invalidated and loading the new one fails, takes too long or is rejected. Default: no such value is served.
        ///
        /// The bound is absolute: neither use nor failures nor invalidations extend it, and after [`Cache::purge`](crate::cache::Cache::purge) there is no
        /// value to serve. Such a value is marked ([`Stale::LoaderFailed`](crate::cache::Stale::LoaderFailed)). It replaces an
        /// error of [`Freshness::Eventual`](crate::cache::Freshness) reads; other variants define their own bounds. It is not
        /// available if the store evicted it or cannot be reached, or under another [`protocol`](Self::protocol). Entries take up
        /// space in the store for this long.
        pub fn fail_safe(age_max: Duration) => draft.fail_safe = Some(age_max);

        /// The maximum lifetime of a value that is stored while a writer whose window expired may still commit. Default 1 s.
        pub fn suspect_ttl(ttl: Duration) => draft.suspect_ttl = Some(ttl);
    }
}
