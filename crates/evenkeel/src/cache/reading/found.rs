//! The result of a read and its origin.

use std::sync::Arc;
use std::time::Duration;

/// The result of a read, with its origin.
#[derive(Debug)]
#[non_exhaustive]
pub struct Found<V> {
    /// The value; `None` means that the row does not exist.
    pub value: Option<Arc<V>>,
    /// Where it came from.
    pub tier: Tier,
    /// How long ago the load of this value began, by the store's clock, or by this process's clock for a load of its own.
    pub age: Duration,
    /// The row's version, if the cache has a version function; an absent row has none.
    pub version: Option<u64>,
    /// Why the value is known not to be the newest; `None` if it may be the newest.
    pub stale: Option<Stale>,
}

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tier {
    /// The near cache of this process.
    Near,
    /// The store: Redis or the embedded store.
    Store,
    /// The loader, during this call: run by this reader, or by one that it waited for.
    Loader,
}

/// Why a value was served although it is known not to be the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stale {
    /// It was invalidated less than `retain_stale` ago, and a reader is loading the new value.
    Invalidated,
    /// Its ttl ended less than the cache's `fail_safe` ago, and a reader is loading the new value.
    Expired,
    /// Loading the new value takes longer than the cache's `load_soft_timeout`; the load continues in the background.
    LoaderSlow,
    /// Loading the new value failed, and the read accepts an old value in that case.
    LoaderFailed,
}

// Not derived, because a shared value need not be `Clone`.
impl<V> Clone for Found<V> {
    fn clone(&self) -> Self {
        let Self { value, tier, age, version, stale } = self;
        Self { value: value.clone(), tier: *tier, age: *age, version: *version, stale: *stale }
    }
}
