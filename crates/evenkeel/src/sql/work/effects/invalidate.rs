//! Invalidations that a unit of work records.

use super::{Effects, of_another_keel};
use crate::cache::{Cache, KeyOf};
use crate::sql::error::SqlError;
use crate::sql::outbox::effect::Invalidate;
use crate::sql::work::windows::RequestedWindow;
use evenkeel_link::support::guard;

impl Effects {
    /// Invalidates the row under `key` after the commit, as [`Cache::invalidate`] does.
    ///
    /// If the cache's reads are [`Fresh`](crate::cache::Freshness::Fresh), its update window is opened before the commit and closed
    /// after it (U6): after the commit no such read returns the older value, also if this process dies in between.
    ///
    /// # Errors
    /// [`SqlError::Effect`] for a cache without the fenced protocol, or of a keel over another Redis; the effect was not recorded.
    pub fn invalidate<K, V, Q>(&mut self, cache: &Cache<K, V>, key: &Q) -> Result<(), SqlError>
    where
        K: ?Sized,
        Q: KeyOf<K> + ?Sized,
        V: Send + Sync + 'static,
    {
        self.end(cache, key, false, None)
    }

    /// Like [`invalidate`](Self::invalidate), with the row's new version: as [`Cache::invalidate_at`].
    ///
    /// # Errors
    /// As [`invalidate`](Self::invalidate).
    pub fn invalidate_at<K, V, Q>(&mut self, cache: &Cache<K, V>, key: &Q, version: u64) -> Result<(), SqlError>
    where
        K: ?Sized,
        Q: KeyOf<K> + ?Sized,
        V: Send + Sync + 'static,
    {
        self.end(cache, key, false, Some(version))
    }

    /// Like [`invalidate`](Self::invalidate), and the old value is never served again, not even as a stale one: as [`Cache::purge`].
    ///
    /// # Errors
    /// As [`invalidate`](Self::invalidate).
    pub fn purge<K, V, Q>(&mut self, cache: &Cache<K, V>, key: &Q) -> Result<(), SqlError>
    where
        K: ?Sized,
        Q: KeyOf<K> + ?Sized,
        V: Send + Sync + 'static,
    {
        self.end(cache, key, true, None)
    }

    fn end<K, V, Q>(&mut self, cache: &Cache<K, V>, key: &Q, is_purge: bool, floor: Option<u64>) -> Result<(), SqlError>
    where
        K: ?Sized,
        Q: KeyOf<K> + ?Sized,
        V: Send + Sync + 'static,
    {
        let cache_of_work = cache.of_work();
        if !cache.is_of(&self.shared.destinations.caches) && guard("effects_of_one_keel") {
            return Err(of_another_keel("cache", &cache_of_work.name));
        }
        if !cache_of_work.is_fenced {
            return Err(SqlError::Effect(format!(
                "cache `{}` does not use the fenced protocol, and invalidations of other protocols cannot be repeated safely; \
                 open it without protocol(..) to use it in a unit of work",
                cache_of_work.name
            )));
        }
        let effect = Invalidate {
            cache: cache_of_work.name.to_string(),
            key: Cache::<K, V>::key_of_work(key),
            demand: cache_of_work.demand(is_purge, floor),
            window: cache_of_work.is_strong,
        };
        if cache_of_work.is_strong {
            RequestedWindow::add(&mut self.windows, cache_of_work, &effect);
        }
        self.invalidations.push(effect);
        Ok(())
    }
}
