//! [`Cache`]: the handle that reads and invalidates.

use super::core::Core;
use super::key::{CacheKey, KeyBytes};
use super::key_of::KeyOf;
use super::near::{Hit, Number, SlotRef};
use crate::cache::loading::loader::{Loader, loader, loader_from};
use crate::cache::reading::demand::ReadPolicy;
use crate::cache::reading::found::Found;
use crate::cache::reading::look::Look;
use crate::cache::settings::freshness::{Freshness, Source};
use crate::cache::store::registry::Handles;
use crate::cache::writing::invalidate::Invalidated;
use crate::cache::writing::ledger::Demand;
use evenkeel_protocol::cache::error::CacheError;
use evenkeel_protocol::cache::steps::Mode;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tracing::Instrument;

/// A cache of rows of type `V` by keys of type `K`; cheap to clone. Built by [`Keel::cache`](crate::Keel::cache).
///
/// **Guarantee (C1).** Once [`invalidate`](Self::invalidate) has returned, no process stores a value that was read from the
/// database before it, however long the load took and whatever happened to its lease.
///
/// **Not guaranteed.** A read that overlaps an invalidation may return either value. Between the commit of a write and its
/// invalidation, readers see the older value: invalidate right after the commit, and choose a ttl that limits the staleness if
/// the process dies in between.
pub struct Cache<K: ?Sized, V> {
    pub(super) core: Arc<Core<V>>,
    pub(super) handles: Handles,
    pub(super) key: PhantomData<fn(&K)>,
}

impl<K: ?Sized, V: Send + Sync + 'static> Cache<K, V> {
    /// Returns the value under `key`, from the store or else from `load`. `None` means that the row does not exist; that is
    /// cached, too.
    ///
    /// A hit costs one plain Redis command. On a miss, one reader of all processes loads and the others wait for its result
    /// (single-flight). The future that `load` returns then runs in a task of its own, so it must own its data (`'static`), and
    /// it continues if this call is dropped. `load` itself is called at most once, and not at all if the load of another reader
    /// serves this one.
    ///
    /// Query the database in that future and not before: `load` is called before the key is leased, so a row that it reads before it
    /// returns the future may be older than an invalidation that the cache has already acknowledged, and is cached all the same.
    ///
    /// While Redis is unavailable, reads come from the loader, with at most `loads_max` concurrent loads.
    ///
    /// `load` borrows the key, and its future may outlive this call: copy the key out of the reference before the `async`
    /// block. The pattern `|&id|` copies a number; a longer key is cloned.
    ///
    /// ```
    /// # use evenkeel::{Keel, cache::CacheError};
    /// # use std::{convert::Infallible, time::Duration};
    /// # async fn find(_: u64) -> Result<Option<String>, Infallible> { Ok(None) }
    /// # async fn find_named(_: String) -> Result<Option<String>, Infallible> { Ok(None) }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), CacheError> {
    /// # let keel = Keel::memory();
    /// let users = keel.cache::<u64, String>("user").ttl(Duration::from_secs(600)).open().await?;
    /// users.get(&42, |&id| async move { find(id).await }).await?;
    ///
    /// let emails = keel.cache::<String, String>("email").ttl(Duration::from_secs(600)).open().await?;
    /// emails.get("ada@example.org", |email| find_named(email.to_owned())).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// With the reference inside the block the compiler reports "lifetime may not live long enough":
    ///
    /// ```compile_fail
    /// # use evenkeel::{Keel, cache::CacheError};
    /// # use std::{convert::Infallible, time::Duration};
    /// # async fn find(_: u64) -> Result<Option<String>, Infallible> { Ok(None) }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), CacheError> {
    /// # let users = Keel::memory().cache::<u64, String>("user").ttl(Duration::from_secs(600)).open().await?;
    /// users.get(&42, |id| async move { find(*id).await }).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The loader's own error ([`CacheError::Loader`]), its panic or time-out; [`CacheError::Overloaded`] if too many loads
    /// were running, [`CacheError::Busy`] if too many readers were waiting; [`CacheError::Failing`] if another reader's load of
    /// this key kept failing; [`CacheError::WaitedTooLong`] and [`CacheError::Writing`] if the cache is configured to return
    /// them. Never an error of Redis.
    pub async fn get<Q, F, Load, E>(&self, key: &Q, load: F) -> Result<Option<Arc<V>>, CacheError>
    where
        Q: KeyOf<K> + ?Sized,
        F: FnOnce(&Q) -> Load,
        Load: Future<Output = Result<Option<V>, E>> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let freshness = self.core.settings.freshness;
        if let Some(value) = self.served_near(key, freshness, Hit::value) {
            return Ok(value);
        }
        // Boxed, so that a near hit does not carry the state of a wait for the store.
        Box::pin(self.find(key, freshness, || loader(load(key)))).await.map(|found| found.value)
    }

    /// Like [`get`](Self::get), with the freshness that this read needs; also returns where the value came from.
    ///
    /// # Errors
    /// As [`get`](Self::get); [`CacheError::Unsupported`] for a freshness that this cache cannot provide.
    pub async fn get_with<Q, F, Load, E>(&self, key: &Q, freshness: Freshness, load: F) -> Result<Found<V>, CacheError>
    where
        Q: KeyOf<K> + ?Sized,
        F: FnOnce(&Q) -> Load,
        Load: Future<Output = Result<Option<V>, E>> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        if let Some(found) = self.served_near(key, freshness, Hit::found) {
            return Ok(found);
        }
        Box::pin(self.find(key, freshness, || loader(load(key)))).await
    }

    /// Like [`get_with`](Self::get_with), with a loader that receives the [`Source`] from which it may read: for a cache whose
    /// loaders read replicas ([`CacheBuilder::reads_replicas`](super::CacheBuilder::reads_replicas)).
    ///
    /// `load` is called at most once, when its source is known. This call may have been dropped by then, so `load` must own its
    /// data.
    ///
    /// ```
    /// # use evenkeel::{Keel, cache::{CacheError, Freshness, Source}};
    /// # use std::{convert::Infallible, time::Duration};
    /// # async fn find(_: Source, _: u64) -> Result<Option<String>, Infallible> { Ok(None) }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), CacheError> {
    /// let users = Keel::memory().cache::<u64, String>("user").ttl(Duration::from_secs(600));
    /// let users = users.reads_replicas(Duration::from_secs(1)).open().await?;
    /// users.get_from(&42, Freshness::Eventual, |source| async move {
    ///     match source {
    ///         Source::Replica => find(source, 42).await, // from the pool of the replicas
    ///         _ => find(source, 42).await,               // from the pool of the primary
    ///     }
    /// }).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`get_with`](Self::get_with).
    pub async fn get_from<Q, F, Load, E>(&self, key: &Q, freshness: Freshness, load: F) -> Result<Found<V>, CacheError>
    where
        Q: KeyOf<K> + ?Sized,
        F: FnOnce(Source) -> Load + Send + 'static,
        Load: Future<Output = Result<Option<V>, E>> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        if let Some(found) = self.served_near(key, freshness, Hit::found) {
            return Ok(found);
        }
        Box::pin(self.find(key, freshness, || loader_from(load))).await
    }

    /// Returns the value under `key` from the near cache without waiting, for code that must not wait, for example a fast path that
    /// responds before the request is parsed. `None` means only that the near cache has no usable value: call [`get`](Self::get),
    /// which looks again and counts the hit or miss.
    ///
    /// **Guarantee.** As for a near hit of a read with the cache's own freshness
    /// ([`CacheBuilder::near`](super::CacheBuilder::near)).
    /// **Not guaranteed.** A tracing span: this call creates none.
    #[must_use]
    pub fn peek<Q>(&self, key: &Q) -> Option<Found<V>>
    where
        Q: KeyOf<K> + ?Sized,
    {
        if !self.core.has_near() {
            return None;
        }
        let policy = ReadPolicy::new(self.core.settings.freshness);
        SlotRef::with(key, |slot| self.core.peek_near(slot, policy)).map(Hit::found)
    }

    /// Invalidates the entry of `key` for all processes: the result of every load that began before this call will not be
    /// stored. Call it after the commit. The old value is served as stale for at most `retain_stale` (default: zero) while one reader
    /// loads the new one.
    ///
    /// With a spool ([`KeelBuilder::spool`](crate::KeelBuilder)), an outage of Redis is not an error: the result is
    /// [`Invalidated::Deferred`].
    ///
    /// # Errors
    /// [`CacheError::Link`]. Other processes may then serve the stale row until its ttl ends. This process replays the
    /// invalidation until it succeeds, for as long as the process lives, and reads this key from the database meanwhile. A
    /// repeated call is harmless; [`outcome_unknown`](CacheError::outcome_unknown) returns whether the invalidation may have
    /// happened.
    pub async fn invalidate<Q>(&self, key: &Q) -> Result<Invalidated, CacheError>
    where
        Q: KeyOf<K> + ?Sized,
    {
        self.end(key, self.core.expiring_demand()).await
    }

    /// Like [`invalidate`](Self::invalidate), for a writer that knows the row's new version: no older version is stored from
    /// now on, whatever its origin (a lagging replica, a paused process), for as long as the entry lives.
    ///
    /// Not guaranteed: that the version is retained after an expiry, an eviction or a flush of the entry; that it keeps out the absence of
    /// the row, which has no version.
    ///
    /// # Errors
    /// As [`invalidate`](Self::invalidate).
    pub async fn invalidate_at<Q>(&self, key: &Q, version: u64) -> Result<Invalidated, CacheError>
    where
        Q: KeyOf<K> + ?Sized,
    {
        self.end(key, Demand { floor: Some(version), ..self.core.expiring_demand() }).await
    }

    /// Like [`invalidate`](Self::invalidate), but the old value is never served again, whatever `retain_stale` is: for data that must
    /// disappear at once, such as a revoked permission.
    ///
    /// # Errors
    /// As [`invalidate`](Self::invalidate).
    pub async fn purge<Q>(&self, key: &Q) -> Result<Invalidated, CacheError>
    where
        Q: KeyOf<K> + ?Sized,
    {
        self.end(key, Demand { mode: Mode::Purge, ..self.core.expiring_demand() }).await
    }

    /// While set, all reads of this process call the loader (at most `loads_max` at once) and neither read from the store nor
    /// write to it. For an operator who does not trust the contents of Redis, or who takes Redis out of service.
    ///
    /// Invalidations continue. The processes can therefore be switched in any order and switched back at any time: the contents
    /// of the store are as valid as without the switch.
    pub fn bypass_reads(&self, bypass: bool) {
        self.core.bypass_reads.store(bypass, Relaxed);
    }

    /// While set, this process stores no loaded value; it still serves the values that the store has until they end. For a
    /// Redis that is short of memory, or a program whose values are in doubt. Each miss is then a load of its own in each
    /// process. Invalidations continue.
    pub fn bypass_fills(&self, bypass: bool) {
        self.core.bypass_fills.store(bypass, Relaxed);
    }

    /// The name of this cache.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.core.name
    }

    /// For test suites: waits until no load of this process is running, background loads included.
    #[cfg(feature = "testing")]
    pub async fn until_idle(&self) {
        self.core.calls.until_idle().await;
    }

    /// Looks in the near cache for a read without tracing; a traced read looks inside its span.
    #[inline]
    fn served_near<Q, R>(&self, key: &Q, freshness: Freshness, take: impl FnOnce(Hit<V>) -> R) -> Option<R>
    where
        Q: CacheKey + ?Sized,
    {
        // A read that continues encodes its key a second time, which costs very little.
        if is_traced() || !self.core.has_near() {
            return None;
        }
        let policy = ReadPolicy::new(freshness);
        match key.number() {
            Some(number) => self.core.near_hit(Number(number), policy, take),
            None => self.core.near_hit(SlotRef::of(&KeyBytes::new(key)), policy, take),
        }
    }

    /// A read that the near cache did not serve.
    async fn find<Q: CacheKey + ?Sized>(
        &self,
        key: &Q,
        freshness: Freshness,
        loader: impl FnOnce() -> Loader<V>,
    ) -> Result<Found<V>, CacheError> {
        let key = &KeyBytes::new(key);
        if !is_traced() {
            return self.read(key, freshness, loader).await;
        }
        let span = tracing::debug_span!("cache.get", cache = &*self.core.name, tier = tracing::field::Empty);
        let traced = async {
            let found = match self.core.near_hit(SlotRef::of(key), ReadPolicy::new(freshness), Hit::found) {
                Some(found) => found,
                None => self.read(key, freshness, loader).await?,
            };
            tracing::Span::current().record("tier", tracing::field::debug(found.tier));
            Ok(found)
        };
        Box::pin(traced.instrument(span)).await
    }

    async fn read(
        &self,
        key: &KeyBytes,
        freshness: Freshness,
        loader: impl FnOnce() -> Loader<V>,
    ) -> Result<Found<V>, CacheError> {
        let policy = self.core.policy(freshness)?;
        match self.core.look(key.as_slice(), policy).await {
            Look::Serve(found) => Ok(found),
            Look::ServeAndLoad(found, why) => {
                self.core.load_ahead(key.as_slice(), why, policy, loader);
                Ok(found)
            }
            // Boxed, so that a hit does not carry the state of a load.
            Look::Load(plan, rescue) => {
                Box::pin(self.core.load_or_rescue(key.as_slice(), plan, policy, rescue, loader)).await
            }
        }
    }

    async fn end<Q: CacheKey + ?Sized>(&self, key: &Q, demand: Demand) -> Result<Invalidated, CacheError> {
        let invalidation = self.core.invalidate(KeyBytes::new(key), demand);
        if is_traced() {
            let span = tracing::debug_span!("cache.invalidate", cache = &*self.core.name);
            return invalidation.instrument(span).await;
        }
        invalidation.await
    }
}

/// Whether spans of reads are enabled.
#[inline]
fn is_traced() -> bool {
    tracing::enabled!(tracing::Level::DEBUG)
}

// Not derived, because keys and values need not be `Clone` or `Debug`.
impl<K: ?Sized, V> Clone for Cache<K, V> {
    fn clone(&self) -> Self {
        Self { core: Arc::clone(&self.core), handles: Arc::clone(&self.handles), key: PhantomData }
    }
}

impl<K: ?Sized, V> fmt::Debug for Cache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("name", &self.core.name).finish_non_exhaustive()
    }
}
