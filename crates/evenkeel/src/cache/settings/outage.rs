//! The settings of [`CacheBuilder`] for times in which Redis does not answer.

use super::builder::CacheBuilder;
use std::time::Duration;

/// # Outages
///
/// What happens while Redis does not answer, and after it has lost writes.
impl<K: ?Sized, V, C> CacheBuilder<K, V, C> {
    setters! {
        /// How long a reader waits for a reply of Redis before it calls the loader instead. Default 500 ms. The time-out occurs
        /// between this and 9/8 of it, and hardly counts time in which the process itself was not running. If the link's own
        /// response time-out is shorter, it applies instead. Invalidations always get the full response time-out of the link.
        ///
        /// Choose a value above the pauses of your Redis (the fork for a snapshot of many gigabytes, a long script); otherwise each
        /// such pause sends readers to the database, at most `loads_max` at once.
        pub fn store_timeout(timeout: Duration) => draft.store_timeout = Some(timeout);

        /// The circuit breaker: after how many consecutive reads without a reply it opens, and for how long. Then one reader probes
        /// Redis, and the others follow if it got a reply. While the breaker is open, reads go to the loader at once, at most
        /// `loads_max` of them. Default 3, 500 ms. Invalidations are always sent, whatever the state of the breaker.
        ///
        /// Missing replies count as failures, and so do replies of a server that is loading or busy. Broken connections do not: the
        /// link rejects calls until it has reconnected, and a new connection closes the breaker.
        pub fn breaker(failures: u32, pause: Duration) => draft.breaker = Some((failures, pause));

        /// How long this process retains its invalidations, in order to replay them to a Redis that may have lost them. Default
        /// 60 s. Choose more than the duration of a failover plus the lag of its replica.
        pub fn replay_window(span: Duration) => draft.replay_window = Some(span);

        /// The maximum number of retained invalidations. Default 10,000. Above it the oldest are not replayed
        /// (`evenkeel_cache_invalidations_forgotten_total`), and a value that a failover restored lasts until its ttl ends.
        pub fn replay_max(invalidations: usize) => draft.replay_max = Some(invalidations);
    }
}
