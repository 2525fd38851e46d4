//! The settings of [`CacheBuilder`] for the freshness of reads and for update windows.

use super::builder::CacheBuilder;
use super::freshness::{Freshness, WhileWriting};
use std::time::Duration;

/// # Freshness and writes
///
/// How fresh reads are by default, and how writes exclude fills.
impl<K: ?Sized, V, C> CacheBuilder<K, V, C> {
    /// Makes [`Freshness::Fresh`] the default of all reads, batches included: the row as it is now (C2), if all writes go
    /// through [`Cache::write`](crate::cache::Cache::write).
    pub fn strong(self) -> Self {
        self.freshness(Freshness::Fresh)
    }

    setters! {
        /// The freshness of reads that do not choose one: [`Freshness::Eventual`] by default.
        pub fn freshness(freshness: Freshness) => draft.freshness = freshness;

        /// What a read does that finds an open update window and no value that it may serve. Default [`WhileWriting::Wait`].
        pub fn while_writing(choice: WhileWriting) => draft.while_writing = choice;

        /// How long an update window stays open after its last renewal. Default 3 s. [`Cache::write`](crate::cache::Cache::write) renews it at a third of this.
        /// If a writer dies, readers may have to wait this long.
        pub fn write_window(window: Duration) => draft.window = Some(window);

        /// The longest time a transaction may take to commit after its window has expired (its writer died or lost the connection).
        /// Default 60 s. During that time stored values live at most `suspect_ttl`. Choose more than your database's own limits.
        pub fn transaction_max(span: Duration) => draft.transaction_max = Some(span);

        /// Before a write begins, waits until `count` replicas of Redis have its window (Redis's `WAIT`), for at most `timeout`,
        /// and at most an hour. If fewer replicas have it by then, the write is rejected ([`CacheError::WindowNotReplicated`](crate::cache::CacheError::WindowNotReplicated)) and
        /// its window is removed.
        ///
        /// With it, a failover to one of those replicas does not lose the window. It is not consensus: Redis may promote a replica
        /// that lacks the window, a replica that has it may lose it in a crash, and the end of the window is not replicated
        /// synchronously. Writes of one process then begin one after another, each after a round trip to the replicas.
        pub fn windows_on_replicas(count: u32, timeout: Duration) => draft.window_replicas = Some((count, timeout));

        /// Allows loaders to read replicas that lag behind the primary by at most `lag_max`. [`Cache::get_from`](crate::cache::Cache::get_from) and
        /// [`Cache::get_many_from`](crate::cache::Cache::get_many_from) pass the loader the source from which it may read; the loaders of the other calls get no source
        /// and must read the primary.
        ///
        /// The primary is read by reads that need the newest row, and for `lag_max` after the last invalidation, with a version or
        /// without, by whichever process, whatever its settings. If an entry has no record of that (it was created again, after an
        /// eviction for example, or only programs without this setting have used it), the last invalidation counts as just now.
        ///
        /// Not guaranteed: anything, if a replica lags further behind than this. Monitor the lag, and take such a replica out of
        /// use. While Redis is unavailable, loads may read a replica that lacks an invalidated write; nothing is stored then. If it replies
        /// and refuses a load (its memory is full), the load reads the primary.
        pub fn reads_replicas(lag_max: Duration) => draft.replica_lag_max = Some(lag_max);
    }
}
