//! What units of work and relays need of caches.

use super::cache::Cache;
use super::core::Core;
use super::key::KeyBytes;
use super::key_of::KeyOf;
use super::open::OpenCache;
use crate::cache::settings::freshness::Freshness;
use crate::cache::store::registry::Caches;
use crate::cache::writing::ledger::Demand;
use crate::cache::writing::replay::PendingInvalidation;
use bytes::Bytes;
use evenkeel_link::Token;
use evenkeel_protocol::cache::error::CacheError;
use evenkeel_protocol::cache::steps::Mode;
use std::sync::Arc;

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
            expire: self.core.expiring_demand(),
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
        Q: KeyOf<K> + ?Sized,
    {
        Bytes::copy_from_slice(KeyBytes::new(key).as_slice())
    }
}

impl Caches {
    /// Begins an invalidation of a unit of work in this process, before it is sent: running loads and near values of the entry are
    /// cut off, and if the result is dropped the invalidation is pending, as a failed one. `None` if no cache of this name is open.
    pub(crate) fn begin_of_work(&self, cache: &str, key: &Bytes, demand: Demand) -> Option<PendingInvalidation> {
        Some(self.open(cache)?.begin_invalidation(key, demand))
    }

    /// Carries out one invalidation of a committed unit of work. `window` is the token of the unit of work if it opened an
    /// update window on the entry. `begun`: what [`begin_of_work`](Self::begin_of_work) returned, which this call replaces.
    pub(crate) async fn invalidate_of_work(
        &self,
        cache: &str,
        key: &Bytes,
        demand: Demand,
        window: Option<Token>,
        begun: Option<PendingInvalidation>,
    ) -> Result<(), CacheError> {
        let open = self.open(cache);
        if let (Some(begun), Some(_)) = (begun, &open) {
            begun.replaced();
        }
        let Some(token) = window else { return self.invalidate(cache, key, demand).await.map(drop) };
        match open {
            Some(open) => open.end_window(key.clone(), token, demand).await,
            None => self.steps(cache).end_write(key, token, &demand.invalidation()).await.map(drop),
        }
    }
}
