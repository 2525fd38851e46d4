//! The settings of [`CacheBuilder`] for loads and for the readers that wait for them.

use super::AfterWait;
use super::builder::CacheBuilder;
use std::time::Duration;

/// # Loading
///
/// How loads run, how many run at once, and how long readers wait for them.
impl<K: ?Sized, V, C> CacheBuilder<K, V, C> {
    setters! {
        /// How long one reader has the sole right to load a key. Default 500 ms, less for ttls below 4 s. The value of a load that
        /// takes longer is still stored, but a second load may run concurrently: choose a lease that is longer than most loads.
        pub fn lease(lease: Duration) => draft.lease = Some(lease);

        /// How long after its lease a loaded value may still be stored. Default 1.5 s, less for ttls below 4 s. A value that took
        /// longer is returned to its readers and not stored, so the result of a query that always takes longer is never cached; a
        /// warning is logged once (`evenkeel_cache_refused_fills_total{reason="over_budget"}` counts).
        pub fn load_budget(budget: Duration) => draft.load_budget = Some(budget);

        /// How long a load may take before it is cancelled and its readers get an error. Default 10 s.
        pub fn load_timeout(timeout: Duration) => draft.load_timeout = Some(timeout);

        /// How long a reader that has a value by [`fail_safe`](Self::fail_safe) waits for the load of a new one. Then it gets that
        /// value, and the load continues in the background, up to [`load_timeout`](Self::load_timeout), and its result is stored.
        /// Default: it waits for the load.
        pub fn load_soft_timeout(timeout: Duration) => draft.load_soft_timeout = Some(timeout);

        /// How long no reader loads a key after a load of it has failed. Default 250 ms.
        pub fn retry_after(pause: Duration) => draft.retry_after = Some(pause);

        /// The maximum number of concurrent loads of this cache in this process, each of another key. Default 64. It limits the
        /// load on the database when Redis is empty or unavailable.
        pub fn loads_max(loads: usize) => draft.loads_max = Some(loads);

        /// How long a reader waits for another reader's load, or for a permit to load. [`after_wait`](Self::after_wait) decides
        /// what it does after waiting for a load; a reader that gets no permit fails with [`CacheError::Overloaded`](crate::cache::CacheError::Overloaded). Default: the
        /// load timeout.
        pub fn wait_max(wait: Duration) => draft.wait_max = Some(wait);

        /// What a reader does after it has waited for another reader's load for `wait_max`. Default [`AfterWait::Load`].
        pub fn after_wait(after_wait: AfterWait) => draft.after_wait = after_wait;

        /// The maximum number of readers of this cache that wait at the same time in this process, for another reader's load or for
        /// a permit to load. Further readers fail with [`CacheError::Busy`](crate::cache::CacheError::Busy) instead of waiting and holding the memory of their
        /// request. Default 10,000. A batch counts as one reader.
        pub fn waiters_max(readers: usize) => draft.waiters_max = Some(readers);
    }
}
