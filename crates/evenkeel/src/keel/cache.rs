//! The caches of a [`Keel`].

use super::Keel;
use crate::cache::admin::CacheAdmin;
use crate::cache::{CacheBuilder, CacheError};
use std::sync::Arc;

/// Caches; see the module [`cache`](crate::cache).
impl Keel {
    /// Starts a cache called `name`: 1 to 64 letters, digits, `-`, `_` or `.`, the same name in every process.
    ///
    /// Open it once and clone the handle: two separate handles could not exclude their readers from each other's invalidated
    /// loads.
    ///
    /// Caches of one keel share their background tasks. Their number is not limited, but each name has memory and metrics of
    /// its own: for thousands of tenants, make the tenant a part of the key of one cache, as in `cache::<(u32, u64),
    /// User>("user")`.
    pub fn cache<K: ?Sized, V>(&self, name: &str) -> CacheBuilder<K, V> {
        CacheBuilder::new(Arc::clone(&self.0.stores.caches), name)
    }

    /// The operator's handle on the cache called `name`. It needs neither the types of its keys and values nor its settings, and the cache
    /// need not exist: Redis has no list of caches.
    ///
    /// # Errors
    /// [`CacheError::Settings`] if no cache can have this name.
    pub fn cache_admin(&self, name: &str) -> Result<CacheAdmin, CacheError> {
        CacheAdmin::new(&self.0.stores.caches, name)
    }
}
