//! What a read found, and where it comes from.

use std::sync::Arc;
use std::time::Duration;

/// What a read found, with its provenance.
#[derive(Debug)]
#[non_exhaustive]
pub struct Found<V> {
    /// The value; `None` says that the row does not exist.
    pub value: Option<Arc<V>>,
    /// Where it came from.
    pub tier: Tier,
    /// How long ago the load began that brought it: by the store's clock, or by this process's for a load of its own.
    pub age: Duration,
    /// The row's version, if the cache was told where to find it; an absent row has none.
    pub version: Option<u64>,
    /// Why this is known not to be the newest value; `None` if nothing says so.
    pub stale: Option<Stale>,
}

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tier {
    /// The near cache of this process.
    Near,
    /// The store: Redis, or the embedded one.
    Store,
    /// The loader, during this call: by this reader, or by one that it waited for.
    Loader,
}

/// Why a value was served although it is known not to be the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stale {
    /// It was invalidated less than `keep` ago, and somebody is loading the new one.
    Invalidated,
    /// It has outlived its ttl less than the cache's `fail_safe` ago, and somebody is loading the new one.
    Expired,
    /// Loading the new one takes longer than the cache's `load_soft_timeout`; it goes on in the background.
    LoaderSlow,
    /// Loading the new one failed, and the read asked for the old one in that case.
    LoaderFailed,
}

// By hand: a value need not be `Clone` to be shared.
impl<V> Clone for Found<V> {
    fn clone(&self) -> Self {
        let Self { value, tier, age, version, stale } = self;
        Self { value: value.clone(), tier: *tier, age: *age, version: *version, stale: *stale }
    }
}
