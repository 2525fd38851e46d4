//! [`Cache`]: the handle that reads and invalidates.

use super::core::Core;
use super::key::{CacheKey, KeyBytes};
use super::near::{Hit, Number, SlotRef};
use crate::cache::loading::loader::{Loader, loader, loader_from};
use crate::cache::reading::demand::ReadPolicy;
use crate::cache::reading::found::Found;
use crate::cache::reading::look::Look;
use crate::cache::settings::freshness::{Freshness, Source};
use crate::cache::store::registry::Handles;
use crate::cache::writing::ledger::Demand;
use evenkeel_link::support::guard;
use evenkeel_protocol::cache::error::CacheError;
use evenkeel_protocol::cache::steps::Mode;
use std::borrow::Borrow;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use tracing::Instrument;

/// A cache of rows of type `V` by keys of type `K`; cheap to clone. Made by [`Keel::cache`](crate::Keel::cache).
///
/// **Guarantee (C1).** Once [`invalidate`](Self::invalidate) has answered, no value that was read from the database before it is
/// stored by anyone, in this process or another, however slow the load was and whatever happened to its lease.
///
/// **Not guaranteed.** A read that overlaps an invalidation may return either value. Between the commit of a write and its
/// invalidation readers see the older value: invalidate right after the commit, and set the ttl to what you can bear if the
/// process dies in between.
pub struct Cache<K: ?Sized, V> {
    pub(super) core: Arc<Core<V>>,
    pub(super) handles: Handles,
    pub(super) key: PhantomData<fn(&K)>,
}

/// What an invalidation that did not fail has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Invalidated {
    /// The store has it: every load that began before it has lost the right to store what it brings.
    Done,
    /// The store could not be reached, and the spool of this process has it
    /// ([`KeelBuilder::spool`](crate::KeelBuilder), feature `spool`): it is driven until it is done, by this process or, should
    /// this one die, by the next one that opens this cache with that folder. Until then other processes may serve the older value.
    Deferred,
}

impl Invalidated {
    /// The weaker of two answers.
    pub(super) fn and(self, other: Self) -> Self {
        if self == Self::Done { other } else { self }
    }
}

impl<K: ?Sized, V: Send + Sync + 'static> Cache<K, V> {
    /// The value under `key`, from the store or else from `load`. `None` says that the row does not exist; that is cached too.
    ///
    /// A hit costs one plain Redis command. On a miss one reader in the fleet loads and the others wait for it; the future that
    /// `load` returns then runs in a task of its own, so it must own what it needs (`'static`), and it goes on if this call is
    /// dropped. `load` itself is called at most once, and not at all if somebody else's load serves this reader.
    ///
    /// While Redis is away, reads come from the loader, at most `loads_max` at once.
    ///
    /// `load` is lent the key, and its future may outlive this call: take the key out of the reference before the `async` block. The
    /// pattern `|&id|` copies a number; a longer key is cloned.
    ///
    /// ```
    /// # use evenkeel::{Keel, cache::CacheError};
    /// # use std::{convert::Infallible, time::Duration};
    /// # async fn find(_: u64) -> Result<Option<String>, Infallible> { Ok(None) }
    /// # async fn find_named(_: String) -> Result<Option<String>, Infallible> { Ok(None) }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), CacheError> {
    /// # let keel = Keel::memory();
    /// let users = keel.cache::<u64, String>("user").ttl(Duration::from_secs(600)).build()?;
    /// users.get(&42, |&id| async move { find(id).await }).await?;
    ///
    /// let emails = keel.cache::<String, String>("email").ttl(Duration::from_secs(600)).build()?;
    /// emails.get("ada@example.org", |email| find_named(email.to_owned())).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// With the reference inside the block the compiler says "lifetime may not live long enough":
    ///
    /// ```compile_fail
    /// # use evenkeel::{Keel, cache::CacheError};
    /// # use std::{convert::Infallible, time::Duration};
    /// # async fn find(_: u64) -> Result<Option<String>, Infallible> { Ok(None) }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), CacheError> {
    /// # let users = Keel::memory().cache::<u64, String>("user").ttl(Duration::from_secs(600)).build()?;
    /// users.get(&42, |id| async move { find(*id).await }).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The loader's own ([`CacheError::Loader`]), its panic or time-out; [`CacheError::Overloaded`] if too many loads were in
    /// the way, [`CacheError::Busy`] if too many readers were; [`CacheError::Failing`] if another reader's load of this key kept
    /// failing; [`CacheError::WaitedTooLong`] and [`CacheError::Writing`] if the cache was built so. Never Redis's.
    pub async fn get<Q, F, Load, E>(&self, key: &Q, load: F) -> Result<Option<Arc<V>>, CacheError>
    where
        K: Borrow<Q>,
        Q: CacheKey + ?Sized,
        F: FnOnce(&Q) -> Load,
        Load: Future<Output = Result<Option<V>, E>> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let freshness = self.core.settings.freshness;
        if let Some(value) = self.from_near(key, freshness, Hit::value) {
            return Ok(value);
        }
        // Boxed, so that a near hit does not carry the room that a wait for the store needs.
        Box::pin(self.find(key, freshness, || loader(load(key)))).await.map(|found| found.value)
    }

    /// Like [`get`](Self::get), with the freshness that this read needs, and with where the value came from.
    ///
    /// # Errors
    /// As [`get`](Self::get); [`CacheError::Unsupported`] for a freshness that this cache cannot give.
    pub async fn get_with<Q, F, Load, E>(&self, key: &Q, freshness: Freshness, load: F) -> Result<Found<V>, CacheError>
    where
        K: Borrow<Q>,
        Q: CacheKey + ?Sized,
        F: FnOnce(&Q) -> Load,
        Load: Future<Output = Result<Option<V>, E>> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        if let Some(found) = self.from_near(key, freshness, Hit::found) {
            return Ok(found);
        }
        Box::pin(self.find(key, freshness, || loader(load(key)))).await
    }

    /// Like [`get_with`](Self::get_with), with a loader that is told where it may read: for a cache whose loaders read replicas
    /// ([`CacheBuilder::reads_replicas`](super::CacheBuilder::reads_replicas)).
    ///
    /// `load` is called at most once, when it is known where; by then this call may be gone, so it owns what it needs.
    ///
    /// ```
    /// # use evenkeel::{Keel, cache::{CacheError, Freshness, Source}};
    /// # use std::{convert::Infallible, time::Duration};
    /// # async fn find(_: Source, _: u64) -> Result<Option<String>, Infallible> { Ok(None) }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), CacheError> {
    /// let users = Keel::memory().cache::<u64, String>("user").ttl(Duration::from_secs(600));
    /// let users = users.reads_replicas(Duration::from_secs(1)).build()?;
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
        K: Borrow<Q>,
        Q: CacheKey + ?Sized,
        F: FnOnce(Source) -> Load + Send + 'static,
        Load: Future<Output = Result<Option<V>, E>> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        if let Some(found) = self.from_near(key, freshness, Hit::found) {
            return Ok(found);
        }
        Box::pin(self.find(key, freshness, || loader_from(load))).await
    }

    /// What the near cache has under `key`, without waiting for anybody: for a path that would rather take another way than
    /// wait, such as one that answers before a request is taken apart. `None` says nothing about the row: ask with
    /// [`get`](Self::get), which looks again and counts what it finds.
    ///
    /// **Guarantee.** As for a read of the cache's own freshness that hits near ([`CacheBuilder::near`](super::CacheBuilder::near)).
    /// **Not guaranteed.** A span: nobody traces what does not wait.
    #[must_use]
    pub fn peek<Q>(&self, key: &Q) -> Option<Found<V>>
    where
        K: Borrow<Q>,
        Q: CacheKey + ?Sized,
    {
        if !self.core.has_near() {
            return None;
        }
        let policy = ReadPolicy::new(self.core.settings.freshness);
        SlotRef::with(key, |slot| self.core.peek_near(slot, policy)).map(Hit::found)
    }

    /// Tells the fleet that the row under `key` has changed: every load that began before loses the right to store its value.
    /// Call it after the commit. The old value is served on for at most `keep` (nothing by default) while one reader loads the new one.
    ///
    /// With a spool ([`KeelBuilder::spool`](crate::KeelBuilder)) an outage of Redis is no error, but [`Invalidated::Deferred`].
    ///
    /// # Errors
    /// [`CacheError::Link`]. The row may then be served stale by other processes until its ttl ends. This process drives the
    /// invalidation again until it is done, for as long as it lives, and goes to the database for this key meanwhile. Calling
    /// again is harmless; [`outcome_unknown`](CacheError::outcome_unknown) tells whether it may have happened.
    pub async fn invalidate<Q>(&self, key: &Q) -> Result<Invalidated, CacheError>
    where
        K: Borrow<Q>,
        Q: CacheKey + ?Sized,
    {
        self.end(key, self.core.expire()).await
    }

    /// Like [`invalidate`](Self::invalidate), by a writer that knows the row's new version: no older one is stored from now on,
    /// wherever it comes from (a replica that lags, another process that paused), for as long as the entry lives.
    ///
    /// Not guaranteed: that the version is remembered across an expiry, an eviction or a flush of the entry.
    ///
    /// # Errors
    /// As [`invalidate`](Self::invalidate).
    pub async fn invalidate_at<Q>(&self, key: &Q, version: u64) -> Result<Invalidated, CacheError>
    where
        K: Borrow<Q>,
        Q: CacheKey + ?Sized,
    {
        self.end(key, Demand { floor: Some(version), ..self.core.expire() }).await
    }

    /// Like [`invalidate`](Self::invalidate), and the old value is never served again, whatever `keep` says: for what must not
    /// be seen any more, such as a revoked permission.
    ///
    /// # Errors
    /// As [`invalidate`](Self::invalidate).
    pub async fn purge<Q>(&self, key: &Q) -> Result<Invalidated, CacheError>
    where
        K: Borrow<Q>,
        Q: CacheKey + ?Sized,
    {
        self.end(key, Demand { mode: Mode::Purge, ..self.core.expire() }).await
    }

    /// Lets all reads of this process go to the loader (at most `loads_max` at once), and nothing be read from the store or
    /// written to it by them, until it is called again with `false`. For an operator who does not trust what is in Redis, or who
    /// takes Redis out of service.
    ///
    /// Invalidations go on as always, so there is no order to keep between processes, and no moment after which it would be
    /// wrong to switch back: what the store has then is as good as if the switch had never been touched. (A library that can
    /// switch its invalidations off as well must have its reads off everywhere before, and on again last.)
    pub fn bypass_reads(&self, bypass: bool) {
        self.core.switches.set_reads(bypass);
    }

    /// Lets nothing that this process loads be stored, until it is called again with `false`; what the store has is served on
    /// until it ends. For a Redis that is short of memory, or a program whose values are in doubt. Each miss then is a load of
    /// its own in each process. Invalidations go on as always.
    pub fn bypass_fills(&self, bypass: bool) {
        self.core.switches.set_fills(bypass);
    }

    /// The name that the keel knows this cache by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.core.name
    }

    /// Waits until no load of this process is under way, those in the background included.
    #[cfg(feature = "testing")]
    pub async fn until_idle(&self) {
        self.core.calls.until_idle().await;
    }

    /// What is near, for a read that nobody traces: one that is traced looks inside its span.
    #[inline]
    fn from_near<Q, R>(&self, key: &Q, freshness: Freshness, take: impl FnOnce(Hit<V>) -> R) -> Option<R>
    where
        Q: CacheKey + ?Sized,
    {
        // A read that goes on writes its key once more, which costs it next to nothing.
        if is_traced() || !self.core.has_near() {
            return None;
        }
        let policy = ReadPolicy::new(freshness);
        match key.number() {
            Some(number) => self.core.near_hit(Number(number), policy, take),
            None => self.core.near_hit(SlotRef::of(&KeyBytes::new(key)), policy, take),
        }
    }

    /// A read that found nothing at hand.
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
            // Boxed, so that a hit does not carry the room that a load needs.
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

impl<V: 'static> Core<V> {
    pub(super) fn expire(&self) -> Demand {
        Demand { mode: self.settings.expiring(), floor: None, lag_ms_max: self.settings.lag_ms() }
    }

    /// Cuts the flights of the key, sends the invalidation, and cuts again: a flight that began between may have been told
    /// of a value that landed before the store had the invalidation.
    pub(super) async fn invalidate(&self, key: KeyBytes, demand: Demand) -> Result<Invalidated, CacheError> {
        let key = key.as_slice();
        let pending = self.replayer.begin(key, demand);
        if guard("flight_cut_at_send") {
            self.calls.cut(key);
        }
        let invalidation = pending.demand().invalidation();
        let answer = self.store.invalidate(key, &invalidation).await;
        if guard("flight_cut_at_answer") {
            self.calls.cut(key);
        }
        match answer {
            Ok(()) => {
                pending.done();
                self.metrics.invalidations.increment(1);
                Ok(Invalidated::Done)
            }
            Err(error) => {
                let is_kept = pending.defer().await;
                // What the store refuses for good would be deferred for good: the caller must know.
                if is_kept && error.is_retryable() {
                    self.metrics.invalidation_failed("deferred");
                    return Ok(Invalidated::Deferred);
                }
                self.metrics.invalidation_failed(if error.outcome_unknown() { "unknown" } else { "failed" });
                Err(error)
            }
        }
    }
}

/// Whether somebody may listen to spans of reads.
#[inline]
fn is_traced() -> bool {
    tracing::enabled!(tracing::Level::DEBUG)
}

// By hand: neither keys nor values need be `Clone` or `Debug`.
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
