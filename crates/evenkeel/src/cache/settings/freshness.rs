//! How new the value of a read must be, and what a read does while somebody writes.

use std::time::Duration;

/// How new the value of a read must be. A cache has a default ([`CacheBuilder::freshness`](crate::cache::CacheBuilder::freshness)),
/// and every read may ask for something else with [`Cache::get_with`](crate::cache::Cache::get_with).
///
/// What all of them have in common: a value past its ttl is not served unless the text says so, and what the loader of this
/// very read brings is served in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Freshness {
    /// What the store has: a value that nobody has invalidated, or one invalidated less than the cache's `keep` ago, while
    /// somebody loads the new one. The AP mode of the literature.
    ///
    /// **Guarantee.** C1: not a value that was read before an invalidation which had been answered when this read began, but
    /// for the `keep`, and for what a near cache may lag behind.
    /// **Not guaranteed.** That one's own write is seen before its invalidation has answered.
    #[default]
    Eventual,
    /// The row as it is now. The CP mode of the literature.
    ///
    /// **Guarantee (C2).** With all writes of the row going through [`Cache::write`](crate::cache::Cache::write) or a
    /// [`WriteWindow`](crate::cache::WriteWindow), `Fresh` reads of a key are linearizable: once a write has been acknowledged, or its
    /// value has been read by anybody, nobody reads an older one. Never answered by a near cache, never with a stale value, and
    /// never by another reader's load that began before this read, unless the store has confirmed since that its value is the newest. With
    /// Redis away it reads the primary.
    /// **Not guaranteed.** Anything about writes that went past the windows (C1 is what holds then), and the cases that
    /// docs/guarantees.md lists under C2, of which a commit acknowledged after its window had lapsed is the one to know.
    Fresh,
    /// A value that was read from the database at most so long ago, otherwise like [`Eventual`](Self::Eventual).
    ///
    /// **Guarantee.** The age of what is served, counted from before its load, is at most this, by the store's clock; a load
    /// that began after this read did may take longer.
    /// **Not guaranteed.** That nothing was written since.
    Bounded(Duration),
    /// Whatever the store still has, at once: a value that was invalidated or has outlived its ttl too, for as long as the cache
    /// keeps such values (`keep` and the fail-safe of the builder), while somebody loads the new one.
    ///
    /// **Guarantee.** A read that finds such a value in the store does not wait for a load. (It does not look there while the store
    /// is away, while reads are bypassed, or while this process has an invalidation of the key to repeat.)
    /// **Not guaranteed.** One's own writes.
    StaleWhileRevalidate,
    /// A value that nobody has invalidated and that has not outlived its ttl; if there is none, and loading one fails, then an
    /// older one that was read from the database at most so long ago.
    ///
    /// **Guarantee.** A stale value is served only after a load has failed, or has taken longer than `load_soft_timeout` if the cache
    /// has one; and never one older than this bound.
    /// **Not guaranteed.** That there is such a value: the store keeps it for as long as `keep` and the fail-safe of the builder say.
    StaleIfError(Duration),
    /// A value of at least this version: how a reader in another process sees the write that its user has just made. The writer
    /// hands the new row's version to the reader, in a cookie for instance.
    ///
    /// **Guarantee.** What is served has a known version that is not lower, or was read from the primary by a load that began
    /// after this read.
    /// **Not guaranteed.** That nothing newer was written. An absent row has no version, so every such read of an absent row
    /// asks the primary. The cache must know versions ([`CacheBuilder::version`](crate::cache::CacheBuilder::version)).
    AtLeast(u64),
}

/// What a read does that finds an update window open, and nothing that it may serve. Set with
/// [`CacheBuilder::while_writing`](crate::cache::CacheBuilder::while_writing).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhileWriting {
    /// It waits until the window is over, for at most `wait_max`: one load for all who wait.
    #[default]
    Wait,
    /// It loads from the primary at once, without storing: no reader waits for a writer, and a crowd of readers costs one load
    /// per process after the other.
    Load,
    /// It fails with [`CacheError::Writing`](evenkeel_protocol::cache::error::CacheError::Writing).
    Fail,
}

/// Where a loader may read. Handed to the loader of [`Cache::get_from`](crate::cache::Cache::get_from).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// The primary, or whatever has everything that was committed before the load began.
    Primary,
    /// A replica will do, if it lags behind by no more than the bound given to
    /// [`CacheBuilder::reads_replicas`](crate::cache::CacheBuilder::reads_replicas).
    Replica,
}
