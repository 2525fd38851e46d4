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
    /// How long ago the load began that brought it (by the store's clock). Zero for what was loaded during this call.
    pub age: Duration,
    /// Why this is known not to be the newest value; `None` if nothing says so.
    pub stale: Option<Stale>,
}

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tier {
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
}

// By hand: a value need not be `Clone` to be shared.
impl<V> Clone for Found<V> {
    fn clone(&self) -> Self {
        Self { value: self.value.clone(), tier: self.tier, age: self.age, stale: self.stale }
    }
}
