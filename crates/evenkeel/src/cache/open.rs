//! Access to caches by their name, independent of their row types, for units of work, relays and operators. If the cache is open in this
//! process, its handle is used; otherwise the protocol steps are called directly.

use super::core::Core;
use super::key::KeyBytes;
use crate::cache::settings::builder::MEMORY_PREFIX;
use crate::cache::store::registry::Caches;
use crate::cache::writing::invalidate::Invalidated;
use crate::cache::writing::ledger::Demand;
#[cfg(feature = "sql")]
use crate::cache::writing::replay::PendingInvalidation;
#[cfg(feature = "sql")]
use crate::cache::writing::window::WriteWindow;
use bytes::Bytes;
#[cfg(feature = "sql")]
use evenkeel_link::Token;
use evenkeel_link::support::guard;
use evenkeel_protocol::cache::error::CacheError;
use evenkeel_protocol::cache::keys::CacheKeys;
use evenkeel_protocol::cache::memory::MemoryCache;
use evenkeel_protocol::cache::redis::RedisCache;
use evenkeel_protocol::cache::steps::CacheSteps;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

pub(crate) type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, CacheError>> + Send + 'a>>;

/// A cache that is open in this process, independent of its row type.
pub(crate) trait OpenCache: Send + Sync {
    /// Invalidates the key and excludes new readers from its running loads; as [`Cache::invalidate`](super::Cache::invalidate) does.
    fn invalidate_key(&self, key: Bytes, demand: Demand) -> Answer<'_, Invalidated>;

    /// Whether every invalidation of the key that this process has begun has been applied.
    #[cfg(feature = "cdc")]
    fn is_applied(&self, key: &[u8]) -> bool;

    /// Begins an invalidation that is sent later: excludes new readers from running loads of the key, and drops its near value. If the
    /// result is dropped, the invalidation is pending.
    #[cfg(feature = "sql")]
    fn begin_invalidation(&self, key: &[u8], demand: Demand) -> PendingInvalidation;

    /// Ends the window that `token` opened, and no other one. Invalidates even if that window was not open any more.
    #[cfg(feature = "sql")]
    fn end_window(&self, key: Bytes, token: Token, demand: Demand) -> Answer<'_, ()>;

    /// Opens a window over all `keys` under `token`, or none.
    #[cfg(feature = "sql")]
    fn open_window(self: Arc<Self>, token: Token, keys: Vec<Bytes>) -> Answer<'static, WriteWindow>;
}

impl<V: Send + Sync + 'static> Core<V> {
    /// Registers the cache under its name, so that relays and operators of this process find it.
    pub(super) fn register_open(self: &Arc<Self>, caches: &Caches) {
        let open: Arc<dyn OpenCache> = Arc::<Self>::clone(self);
        caches.register_open(&self.name, Arc::downgrade(&open));
    }
}

impl<V: Send + Sync + 'static> OpenCache for Core<V> {
    fn invalidate_key(&self, key: Bytes, demand: Demand) -> Answer<'_, Invalidated> {
        Box::pin(async move { self.invalidate(KeyBytes::written(&key), demand).await })
    }

    #[cfg(feature = "cdc")]
    fn is_applied(&self, key: &[u8]) -> bool {
        self.replayer.is_applied(key)
    }

    #[cfg(feature = "sql")]
    fn begin_invalidation(&self, key: &[u8], demand: Demand) -> PendingInvalidation {
        let pending = self.replayer.begin(key, demand);
        self.calls.close(key);
        self.store.drop_near(key);
        pending
    }

    #[cfg(feature = "sql")]
    fn end_window(&self, key: Bytes, token: Token, demand: Demand) -> Answer<'_, ()> {
        Box::pin(async move {
            let pending = self.replayer.begin(&key, demand);
            self.calls.close(&key);
            let ended = self.store.end_write(&key, token, &pending.demand().invalidation()).await;
            self.calls.close(&key);
            ended?;
            pending.done();
            self.metrics.invalidations.increment(1);
            Ok(())
        })
    }

    #[cfg(feature = "sql")]
    fn open_window(self: Arc<Self>, token: Token, keys: Vec<Bytes>) -> Answer<'static, WriteWindow> {
        Box::pin(async move {
            let keys = keys.iter().map(|key| KeyBytes::written(key)).collect();
            self.begin_write_as(token, keys).await
        })
    }
}

impl Caches {
    /// The steps of the fenced protocol on the entries of a cache.
    pub(crate) fn steps(&self, cache: &str) -> Arc<dyn CacheSteps> {
        match &self.context.link {
            None => {
                let keys = CacheKeys::new(MEMORY_PREFIX, cache);
                Arc::new(MemoryCache::new(Arc::clone(&self.entries), self.context.clock.clone(), keys))
            }
            Some(link) => Arc::new(RedisCache::new(link.clone(), CacheKeys::new(link.prefix(), cache))),
        }
    }

    /// Invalidates an entry through the open cache of this name, if there is one in this process.
    pub(crate) async fn invalidate(&self, cache: &str, key: &Bytes, demand: Demand) -> Result<Invalidated, CacheError> {
        match self.open(cache).filter(|_| guard("named_invalidation_uses_open_cache")) {
            Some(open) => open.invalidate_key(key.clone(), demand).await,
            None => self.steps(cache).invalidate(key, &demand.invalidation()).await.map(|()| Invalidated::Done),
        }
    }
}
