//! Type-erased access to caches for units of work and relays. If the cache is open in this process, it is found by its name;
//! otherwise the protocol steps are called directly (a relay does not need the row type of a cache).

use super::cache::Cache;
use super::core::Core;
use super::key::{CacheKey, KeyBytes};
use crate::cache::settings::freshness::Freshness;
use crate::cache::store::registry::Caches;
use crate::cache::writing::ledger::Demand;
use crate::cache::writing::window::WriteWindow;
use bytes::Bytes;
use evenkeel_link::Token;
use evenkeel_protocol::cache::error::CacheError;
use evenkeel_protocol::cache::keys::CacheKeys;
use evenkeel_protocol::cache::memory::MemoryCache;
use evenkeel_protocol::cache::redis::RedisCache;
use evenkeel_protocol::cache::steps::{CacheSteps, Mode};
use std::borrow::Borrow;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// The key prefix in an embedded store, which has no other users.
const MEMORY_PREFIX: &str = "evenkeel";

type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, CacheError>> + Send + 'a>>;

/// A cache that is open in this process, independent of its row type.
pub(crate) trait OpenCache: Send + Sync {
    /// Invalidates the key and excludes new readers from its running loads; as [`Cache::invalidate`] does.
    fn invalidate_key(&self, key: Bytes, demand: Demand) -> Answer<'_, ()>;

    /// Ends the window that `token` opened, and no other one. Invalidates even if that window was not open any more.
    fn end_window(&self, key: Bytes, token: Token, demand: Demand) -> Answer<'_, ()>;

    /// Opens a window over all `keys` under `token`, or none.
    fn open_window(self: Arc<Self>, token: Token, keys: Vec<Bytes>) -> Answer<'static, WriteWindow>;
}

/// A cache and its properties that a unit of work needs.
pub(crate) struct CacheOfWork {
    pub(crate) name: Arc<str>,
    /// Its reads are [`Freshness::Fresh`] by default, so writes of its rows use update windows.
    pub(crate) is_strong: bool,
    /// Whether it uses the fenced protocol, the only one that supports units of work.
    pub(crate) is_fenced: bool,
    pub(crate) expire: Demand,
    pub(crate) open: Arc<dyn OpenCache>,
}

impl CacheOfWork {
    /// The parameters of an invalidation.
    pub(crate) fn demand(&self, is_purge: bool, floor: Option<u64>) -> Demand {
        let mode = if is_purge { Mode::Purge } else { self.expire.mode };
        Demand { mode, floor, ..self.expire }
    }
}

impl<K: ?Sized, V: Send + Sync + 'static> Cache<K, V> {
    /// The properties of this cache that a unit of work needs.
    pub(crate) fn of_work(&self) -> CacheOfWork {
        CacheOfWork {
            name: Arc::clone(&self.core.name),
            is_strong: self.core.settings.freshness == Freshness::Fresh,
            is_fenced: self.core.is_fenced,
            expire: self.core.expire(),
            open: Arc::<Core<V>>::clone(&self.core),
        }
    }

    /// Whether the invalidations of the units of work over `caches` apply to the entries of this cache.
    pub(crate) fn is_of(&self, caches: &Caches) -> bool {
        self.core.store.is_of(caches)
    }

    /// A key in its encoded form.
    pub(crate) fn key_of_work<Q>(key: &Q) -> Bytes
    where
        K: Borrow<Q>,
        Q: CacheKey + ?Sized,
    {
        Bytes::copy_from_slice(KeyBytes::new(key).as_slice())
    }
}

impl<V: Send + Sync + 'static> Core<V> {
    /// Registers the cache under its name, so that relays of this process find it.
    pub(super) fn register_open(self: &Arc<Self>, caches: &Caches) {
        let open: Arc<dyn OpenCache> = Arc::<Self>::clone(self);
        caches.register_open(&self.name, Arc::downgrade(&open));
    }
}

impl<V: Send + Sync + 'static> OpenCache for Core<V> {
    fn invalidate_key(&self, key: Bytes, demand: Demand) -> Answer<'_, ()> {
        Box::pin(async move { self.invalidate(KeyBytes::written(&key), demand).await.map(drop) })
    }

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

    fn open_window(self: Arc<Self>, token: Token, keys: Vec<Bytes>) -> Answer<'static, WriteWindow> {
        Box::pin(async move {
            let keys = keys.iter().map(|key| KeyBytes::written(key)).collect();
            self.begin_write_as(token, keys).await
        })
    }
}

impl Caches {
    /// Carries out one invalidation of a committed unit of work. `window` is the token of the unit of work if it opened an
    /// update window on the entry.
    pub(crate) async fn invalidate_of_work(
        &self,
        cache: &str,
        key: &Bytes,
        demand: Demand,
        window: Option<Token>,
    ) -> Result<(), CacheError> {
        if let Some(open) = self.open(cache) {
            return match window {
                Some(token) => open.end_window(key.clone(), token, demand).await,
                None => open.invalidate_key(key.clone(), demand).await,
            };
        }
        match &self.context.link {
            None => {
                let keys = CacheKeys::new(MEMORY_PREFIX, cache);
                let steps = MemoryCache::new(Arc::clone(&self.entries), self.context.clock.clone(), keys);
                step(&steps, key, demand, window).await
            }
            Some(link) => {
                let steps = RedisCache::new(link.clone(), CacheKeys::new(link.prefix(), cache));
                step(&steps, key, demand, window).await
            }
        }
    }
}

async fn step(steps: &impl CacheSteps, key: &[u8], demand: Demand, window: Option<Token>) -> Result<(), CacheError> {
    let invalidation = demand.invalidation();
    match window {
        Some(token) => steps.end_write(key, token, &invalidation).await.map(drop),
        None => steps.invalidate(key, &invalidation).await,
    }
}
