//! How new the value of a read must be, and what a read does during a write.

use std::time::Duration;

/// How new the value of a read must be. A cache has a default
/// ([`CacheBuilder::freshness`](crate::cache::CacheBuilder::freshness)), and each read may choose another with
/// [`Cache::get_with`](crate::cache::Cache::get_with).
///
/// Common to all variants: a value whose ttl has ended is not served unless the variant says so, and the value that the read's
/// own loader returns is always served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Freshness {
    /// The value in the store: one that has not been invalidated, or one that was invalidated less than the cache's `retain_stale` ago
    /// while a reader loads the new one. The literature calls this the AP mode.
    ///
    /// **Guarantee.** C1: no value that was read before an invalidation that had returned when this read began, except within
    /// `retain_stale` and within the delay of a near cache.
    /// **Not guaranteed.** That a writer sees its own write before its invalidation has returned.
    #[default]
    Eventual,
    /// The row as it is now. The literature calls this the CP mode.
    ///
    /// **Guarantee (C2).** If all writes of the row go through [`Cache::write`](crate::cache::Cache::write) or a
    /// [`WriteWindow`](crate::cache::WriteWindow), `Fresh` reads of a key are linearizable: once a write has been acknowledged,
    /// or any reader has read its value, no reader reads an older one. A near cache never serves them, nor does a stale value,
    /// nor another reader's load that began before this read, unless the store has confirmed since then that its value is the
    /// newest. If Redis is unavailable, the read goes to the primary.
    /// **Not guaranteed.** Anything about writes that do not use windows (for them C1 holds), and the cases that
    /// docs/guarantees.md lists under C2. The most important of them is a commit that is acknowledged after its window has
    /// expired.
    Fresh,
    /// A value that was read from the database at most this long ago; otherwise like [`Eventual`](Self::Eventual).
    ///
    /// **Guarantee.** The age of the served value, counted from before its load, is at most this, by the store's clock. A load
    /// that began after this read may take longer.
    /// **Not guaranteed.** That the row has not been written since.
    Bounded(Duration),
    /// Any value that the store still has, without waiting: also one that was invalidated or whose ttl has ended, for as long
    /// as the cache retains such values (`retain_stale` and the fail-safe of the builder), while a reader loads the new one.
    ///
    /// **Guarantee.** A read that finds such a value in the store does not wait for a load. (It does not look in the store
    /// while the store is unavailable, while reads are bypassed, or while this process has a pending invalidation of the key.)
    /// **Not guaranteed.** That a writer sees its own writes.
    StaleWhileRevalidate,
    /// A value that has not been invalidated and whose ttl has not ended; if there is none, and loading one fails, an older
    /// value that was read from the database at most this long ago.
    ///
    /// **Guarantee.** A stale value is served only after a load has failed, or has taken longer than `load_soft_timeout` if the
    /// cache has one, and never one older than this bound.
    /// **Not guaranteed.** That such a value exists: the store retains it for as long as `retain_stale` and the fail-safe of the
    /// builder specify.
    StaleIfError(Duration),
    /// A value of at least this version: with it a reader in another process sees a write that its user has just made. The
    /// writer passes the new row's version to the reader, in a cookie for instance.
    ///
    /// **Guarantee.** The served value has a known version that is not lower, or was read from the primary by a load that began
    /// after this read.
    /// **Not guaranteed.** That no newer version exists. An absent row has no version, so every such read of an absent row
    /// queries the primary. The cache must know the versions ([`CacheBuilder::version`](crate::cache::CacheBuilder::version)).
    AtLeast(u64),
}

/// What a read does that finds an open update window and no value that it may serve. Set with
/// [`CacheBuilder::while_writing`](crate::cache::CacheBuilder::while_writing).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhileWriting {
    /// It waits for the end of the window, for at most `wait_max`. One load then serves all waiting readers.
    #[default]
    Wait,
    /// It loads from the primary at once, without storing. No reader waits for a writer; many concurrent readers cost one load
    /// per process at a time.
    Load,
    /// It fails with [`CacheError::Writing`](evenkeel_protocol::cache::error::CacheError::Writing).
    Fail,
}

/// Where a loader may read. Passed to the loader of [`Cache::get_from`](crate::cache::Cache::get_from).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// The primary, or any source that has every commit made before the load began.
    Primary,
    /// A replica is sufficient, if its lag is within the bound given to
    /// [`CacheBuilder::reads_replicas`](crate::cache::CacheBuilder::reads_replicas).
    Replica,
}
