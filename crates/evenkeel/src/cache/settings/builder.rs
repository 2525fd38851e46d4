//! [`CacheBuilder`]: the settings of a cache before it is opened.

use super::freshness::{Freshness, WhileWriting};
use super::log_limit::LogLimit;
use super::switches::Switches;
use super::{AfterWait, Draft, Settings};
use crate::cache::cache::Cache;
use crate::cache::core::{Core, VersionOf, WeightOf, schema_fingerprint};
use crate::cache::loading::admission::Admission;
use crate::cache::loading::flight::SingleFlight;
use crate::cache::loading::payload::Payloads;
use crate::cache::metrics::CacheMetrics;
use crate::cache::near::tracker::Tracker;
use crate::cache::near::{Near, NearDraft};
use crate::cache::reading::demand::ReadPolicy;
use crate::cache::reading::waiters::Waiters;
use crate::cache::store::Store;
use crate::cache::store::breaker::Breaker;
#[cfg(feature = "testing")]
use crate::cache::store::gate::StepGate;
use crate::cache::store::protocol::{CacheProtocol, ProtocolContext, ProtocolStore};
use crate::cache::store::registry::Caches;
use crate::cache::writing::deferral::Deferral;
use crate::cache::writing::ledger::Ledger;
use crate::cache::writing::replay::Replayer;
use evenkeel_link::Link;
use evenkeel_link::support::guard;
use evenkeel_protocol::cache::error::CacheError;
use evenkeel_protocol::cache::keys::CacheKeys;
use evenkeel_protocol::cache::on_replicas::OnReplicas;
use evenkeel_protocol::cache::redis::RedisCache;
use evenkeel_protocol::codec::json::Json;
use evenkeel_protocol::codec::{Codec, check_id};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// The key prefix in an embedded store, which has no other users.
pub(crate) const MEMORY_PREFIX: &str = "evenkeel";

/// The longest wait for replicas.
const REPLICAS_TIMEOUT_MAX: Duration = Duration::from_secs(3600);

/// The settings of a cache before it is opened. Only the ttl is required. Durations above 34 years count as 34 years.
#[must_use = "a builder does nothing until `build`"]
pub struct CacheBuilder<K: ?Sized, V, C = Json> {
    caches: Arc<Caches>,
    name: String,
    draft: Draft,
    pub(crate) near: NearDraft,
    codec: C,
    protocol: Option<Arc<dyn CacheProtocol>>,
    version: Option<VersionOf<V>>,
    pub(crate) weight_of: Option<WeightOf<V>>,
    #[cfg(feature = "testing")]
    gate: Option<StepGate>,
    types: PhantomData<fn(&K) -> V>,
}

impl<K: ?Sized, V> CacheBuilder<K, V> {
    pub(crate) fn new(caches: Arc<Caches>, name: &str) -> Self {
        Self {
            caches,
            name: name.to_owned(),
            draft: Draft::default(),
            near: NearDraft::default(),
            codec: Json,
            protocol: None,
            version: None,
            weight_of: None,
            #[cfg(feature = "testing")]
            gate: None,
            types: PhantomData,
        }
    }
}

impl<K: ?Sized, V, C> CacheBuilder<K, V, C> {
    /// The lifetime of a value, counted from before the row was read; nothing extends it. It limits how long a lost
    /// invalidation leaves a stale value. Required.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.draft.ttl = Some(ttl);
        self
    }

    /// How long the absence of a row is cached. Default: a tenth of the ttl, between 1 s and 30 s. An insert must invalidate
    /// its key like any other write.
    pub fn absent_ttl(mut self, ttl: Duration) -> Self {
        self.draft.absent_ttl = Some(ttl);
        self
    }

    /// The jitter of each ttl, as a fraction of it, up and down, so that rows that were loaded together do not expire together.
    /// Default 0.1; 0 to 0.5.
    pub fn spread(mut self, part: f64) -> Self {
        self.draft.spread = Some(part);
        self
    }

    /// How long one reader has the sole right to load a key. Default 500 ms, less for ttls below 4 s. The value of a load that
    /// takes longer is still stored, but a second load may run concurrently: choose a lease that is longer than most loads.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.draft.lease = Some(lease);
        self
    }

    /// How long after its lease a loaded value may still be stored. Default 1.5 s, less for ttls below 4 s. A value that took
    /// longer is returned to its readers and not stored, so the result of a query that always takes longer is never cached; a
    /// warning is logged once (`evenkeel_cache_refused_fills_total{reason="over_budget"}` counts).
    pub fn load_budget(mut self, budget: Duration) -> Self {
        self.draft.load_budget = Some(budget);
        self
    }

    /// How long a load may take before it is cancelled and its readers get an error. Default 10 s.
    pub fn load_timeout(mut self, timeout: Duration) -> Self {
        self.draft.load_timeout = Some(timeout);
        self
    }

    /// How long before the end of a value a read refreshes it in the background. Default: the last tenth of the ttl, at most 2
    /// s, but never less than lease + load budget. A key that is read continuously is then never missing because of expiry
    /// (C5). Zero disables it: readers wait for a load once per ttl.
    pub fn refresh_window(mut self, window: Duration) -> Self {
        self.draft.refresh_window = Some(window);
        self
    }

    /// How long a value may be served as stale after [`Cache::invalidate`] while one reader loads the new one. Default zero:
    /// readers wait for that load. With a longer time no reader waits, but a reader may see invalidated values for this long,
    /// including values from before its own writes.
    pub fn keep(mut self, keep: Duration) -> Self {
        self.draft.keep = Some(keep);
        self
    }

    /// The maximum age (counted from its load, not from its end) at which a value may be served instead of an error, if it has
    /// ended or was invalidated and loading the new one fails, takes too long or is rejected. Default: no such value is served.
    ///
    /// The bound is absolute: neither use nor failures nor invalidations extend it, and after [`Cache::purge`] there is no
    /// value to serve. Such a value is marked ([`Stale::LoaderFailed`](crate::cache::Stale::LoaderFailed)). It replaces an
    /// error of [`Freshness::Eventual`](crate::cache::Freshness) reads; other variants define their own bounds. It is not
    /// available if the store evicted it or cannot be reached, or under another [`protocol`](Self::protocol). Entries take up space in the
    /// store for this long.
    pub fn fail_safe(mut self, age_max: Duration) -> Self {
        self.draft.fail_safe = Some(age_max);
        self
    }

    /// How long a reader that has a value by [`fail_safe`](Self::fail_safe) waits for the load of a new one. Then it gets that
    /// value, and the load continues in the background, up to [`load_timeout`](Self::load_timeout), and its result is stored.
    /// Default: it waits for the load.
    pub fn load_soft_timeout(mut self, timeout: Duration) -> Self {
        self.draft.load_soft_timeout = Some(timeout);
        self
    }

    /// How long no reader loads a key after a load of it has failed. Default 250 ms.
    pub fn retry_after(mut self, pause: Duration) -> Self {
        self.draft.retry_after = Some(pause);
        self
    }

    /// How long a reader waits for another reader's load, or for a permit to load. [`after_wait`](Self::after_wait) decides
    /// what it does after waiting for a load; a reader that gets no permit fails with [`CacheError::Overloaded`]. Default: the
    /// load timeout.
    pub fn wait_max(mut self, wait: Duration) -> Self {
        self.draft.wait_max = Some(wait);
        self
    }

    /// What a reader does after it has waited for another reader's load for `wait_max`. Default [`AfterWait::Load`].
    pub fn after_wait(mut self, after_wait: AfterWait) -> Self {
        self.draft.after_wait = after_wait;
        self
    }

    /// The maximum number of readers of this cache that wait at the same time in this process, for another reader's load or for
    /// a permit to load. Further readers fail with [`CacheError::Busy`] instead of waiting and holding the memory of their
    /// request. Default 10,000. A batch counts as one reader.
    pub fn waiters_max(mut self, readers: usize) -> Self {
        self.draft.waiters_max = Some(readers);
        self
    }

    /// How long a reader waits for a reply of Redis before it calls the loader instead. Default 500 ms. The time-out occurs
    /// between this and 9/8 of it, and hardly counts time in which the process itself was not running. If the link's own
    /// response time-out is shorter, it applies instead. Invalidations always get the full response time-out of the link.
    ///
    /// Choose a value above the pauses of your Redis (the fork for a snapshot of many gigabytes, a long script); otherwise each
    /// such pause sends readers to the database, at most `loads_max` at once.
    pub fn store_timeout(mut self, timeout: Duration) -> Self {
        self.draft.store_timeout = Some(timeout);
        self
    }

    /// The circuit breaker: after how many consecutive reads without a reply it opens, and for how long. Then one reader probes
    /// Redis, and the others follow if it got a reply. While the breaker is open, reads go to the loader at once, at most
    /// `loads_max` of them. Default 3, 500 ms. Invalidations are always sent, whatever the state of the breaker.
    ///
    /// Missing replies count as failures, and so do replies of a server that is loading or busy. Broken connections do not: the
    /// link rejects calls until it has reconnected, and a new connection closes the breaker.
    pub fn breaker(mut self, failures: u32, pause: Duration) -> Self {
        self.draft.breaker = Some((failures, pause));
        self
    }

    /// The maximum number of concurrent loads of this cache in this process, each of another key. Default 64. It limits the
    /// load on the database when Redis is empty or unavailable.
    pub fn loads_max(mut self, loads: usize) -> Self {
        self.draft.loads_max = Some(loads);
        self
    }

    /// How long this process remembers its invalidations, in order to replay them to a Redis that may have lost them. Default
    /// 60 s. Choose more than the duration of a failover plus the lag of its replica.
    pub fn remember(mut self, span: Duration) -> Self {
        self.draft.replay_window = Some(span);
        self
    }

    /// The maximum number of remembered invalidations. Default 10,000. Above it the oldest are not replayed
    /// (`evenkeel_cache_invalidations_forgotten_total`), and a value that a failover restored lasts until its ttl ends.
    pub fn remember_max(mut self, invalidations: usize) -> Self {
        self.draft.replay_max = Some(invalidations);
        self
    }

    /// Values of at least this many bytes are compressed (LZ4), if that makes them smaller. Default 4 KiB.
    pub fn compress_from(mut self, bytes: usize) -> Self {
        self.draft.compress_bytes_min = Some(bytes);
        self
    }

    /// Values above this many bytes (before compression) are returned and not stored. Default 16 MiB.
    pub fn value_bytes_max(mut self, bytes: usize) -> Self {
        self.draft.value_bytes_max = Some(bytes);
        self
    }

    /// The version number of the stored form of `V`. Raise it when the form changes so that older programs could not read it:
    /// entries of another number are neither read nor overwritten while they live, so two versions of a program can run at the
    /// same time. Default 0.
    pub fn schema(mut self, number: u32) -> Self {
        self.draft.schema = number;
        self
    }

    /// Returns a row's version from its value. With it the store rejects rows that are older than the newest version it has
    /// received from a loader or from [`Cache::invalidate_at`]. All versions of a cache must come from one sequence, and it
    /// must grow with every write of a row, also across a delete and a new insert. An absent row has no version.
    pub fn version(mut self, version: impl Fn(&V) -> u64 + Send + Sync + 'static) -> Self {
        self.version = Some(Arc::new(version));
        self
    }

    /// The freshness of reads that do not choose one: [`Freshness::Eventual`] by default.
    pub fn freshness(mut self, freshness: Freshness) -> Self {
        self.draft.freshness = freshness;
        self
    }

    /// Makes [`Freshness::Fresh`] the default of all reads, batches included: the row as it is now (C2), if all writes go
    /// through [`Cache::write`].
    pub fn strong(self) -> Self {
        self.freshness(Freshness::Fresh)
    }

    /// What a read does that finds an open update window and no value that it may serve. Default [`WhileWriting::Wait`].
    pub fn while_writing(mut self, choice: WhileWriting) -> Self {
        self.draft.while_writing = choice;
        self
    }

    /// How long an update window stays open after its last renewal. Default 3 s. [`Cache::write`] renews it at a third of this.
    /// If a writer dies, readers may have to wait this long.
    pub fn write_window(mut self, window: Duration) -> Self {
        self.draft.window = Some(window);
        self
    }

    /// Before a write begins, waits until `count` replicas of Redis have its window (Redis's `WAIT`), for at most `timeout`,
    /// and at most an hour. If fewer replicas have it by then, the write is rejected ([`CacheError::WindowNotReplicated`]) and
    /// its window is removed.
    ///
    /// With it, a failover to one of those replicas does not lose the window. It is not consensus: Redis may promote a replica
    /// that lacks the window, a replica that has it may lose it in a crash, and the end of the window is not replicated
    /// synchronously. Writes of one process then begin one after another, each after a round trip to the replicas.
    pub fn windows_on_replicas(mut self, count: u32, timeout: Duration) -> Self {
        self.draft.window_replicas = Some((count, timeout));
        self
    }

    /// The longest time a transaction may take to commit after its window has expired (its writer died or lost the connection).
    /// Default 60 s. During that time stored values live at most `suspect_ttl`. Choose more than your database's own limits.
    pub fn transaction_max(mut self, span: Duration) -> Self {
        self.draft.transaction_max = Some(span);
        self
    }

    /// The maximum lifetime of a value that is stored while a writer whose window expired may still commit. Default 1 s.
    pub fn suspect_ttl(mut self, ttl: Duration) -> Self {
        self.draft.suspect_ttl = Some(ttl);
        self
    }

    /// Allows loaders to read replicas that lag behind the primary by at most `lag_max`. [`Cache::get_from`] and
    /// [`Cache::get_many_from`] pass the loader the source from which it may read; the loaders of the other calls get no source
    /// and must read the primary.
    ///
    /// The primary is read by reads that need the newest row, for `lag_max` after an invalidation without a version, and for an
    /// entry that was created again (after an eviction, for example, which also removed its minimum version).
    ///
    /// Not guaranteed: anything, if a replica lags further behind than this. Monitor the lag, and take such a replica out of
    /// use.
    pub fn reads_replicas(mut self, lag_max: Duration) -> Self {
        self.draft.replica_lag_max = Some(lag_max);
        self
    }

    /// Selects another protocol than the fenced one, for comparison. The crate `evenkeel-published` has leases, version comparison
    /// and the delayed double delete, and documents what each of them leaves open.
    ///
    /// Without the fenced protocol there are no update windows, no near cache, and no invalidations in a unit of work.
    pub fn protocol(mut self, protocol: impl CacheProtocol + 'static) -> Self {
        self.protocol = Some(Arc::new(protocol));
        self
    }

    /// The encoding of values. Default [`Json`]. A codec of your own needs an [`id`](Codec::id) from 64 to 127.
    ///
    /// A value is not stored if the codec rejects it or cannot decode its own output: it is returned to its readers, and the
    /// next read loads it again (`evenkeel_cache_refused_fills_total{reason="codec"}`, and a log line once a minute). Encoded
    /// values above 64 KiB are stored without this check. An entry that cannot be decoded is loaded again and replaced, if its
    /// header names this codec and schema and it is older than a second.
    pub fn codec<D: Codec<V>>(self, codec: D) -> CacheBuilder<K, V, D> {
        CacheBuilder {
            caches: self.caches,
            name: self.name,
            draft: self.draft,
            near: self.near,
            codec,
            protocol: self.protocol,
            version: self.version,
            weight_of: self.weight_of,
            #[cfg(feature = "testing")]
            gate: self.gate,
            types: PhantomData,
        }
    }

    /// Lets a test hold and fail the protocol steps of this cache.
    #[cfg(feature = "testing")]
    pub fn gate(mut self, gate: &StepGate) -> Self {
        self.gate = Some(gate.clone());
        self
    }
}

impl<K: ?Sized, V: Send + Sync + 'static, C: Codec<V>> CacheBuilder<K, V, C> {
    /// Opens the cache.
    ///
    /// # Errors
    /// [`CacheError::Settings`]: one sentence that names the setting that cannot work and how to change it.
    pub fn build(self) -> Result<Cache<K, V>, CacheError> {
        let settings = Settings::check(&self.name, &self.draft)?;
        let metrics = Arc::new(CacheMetrics::register(&self.name));
        let clock = self.caches.context.clock.clone();
        let refused = |reason| CacheError::Settings { cache: self.name.clone(), reason };
        check_id(&self.codec, guard("cache_codec_id_checked")).map_err(refused)?;
        let schema = schema_fingerprint(self.codec.id(), settings.schema);
        self.check_replicas().map_err(|reason| refused(reason.to_owned()))?;
        let is_fenced = self.protocol.is_none();
        ReadPolicy::new(settings.freshness)
            .check(self.version.is_some(), is_fenced)
            .map_err(|error| CacheError::Settings { cache: self.name.clone(), reason: error.to_string() })?;
        let breaker =
            Breaker::new(settings.breaker_failures, settings.breaker_pause, clock.clone(), Arc::clone(&metrics));
        let name: Arc<str> = self.name.as_str().into();
        let tracker = self.tracker(&name, &settings)?;
        let hub = &self.caches.hub;
        hub.register(self.link(), &self.caches.entries);
        let store = self.store(schema, settings.store_timeout, breaker).map_err(refused)?.with_tracker(&tracker);
        let waiters = Arc::new(Waiters::new(settings.waiters_max, Arc::clone(&metrics)));
        let ledger = Ledger::new(settings.replay_window, settings.replay_max);
        let deferral = Deferral::of(&self.caches.context, &self.name);
        let replayer = Arc::new(Replayer::new(&store, ledger, deferral, &clock, &metrics, hub));
        let handles = self.caches.enter(&self.name, &replayer)?;
        // Not before `enter`: a rejected cache would replace the tracker of the open one.
        store.register_tracker(&tracker, hub);
        hub.before_open(&replayer);
        replayer.load_spooled();
        let core = Core {
            name,
            tracker,
            schema,
            version: self.version,
            weight_of: self.weight_of,
            is_fenced,
            store,
            payloads: Payloads::new(Arc::new(self.codec), settings.compress_bytes_min, settings.value_bytes_max),
            calls: SingleFlight::new(),
            admission: Admission::new(
                settings.loads_max,
                settings.wait_max,
                Arc::clone(&waiters),
                clock.clone(),
                Arc::clone(&metrics),
            ),
            waiters,
            switches: Switches::default(),
            replayer,
            unreadable_log: LogLimit::default(),
            unstorable_log: LogLimit::default(),
            other_schema_log: LogLimit::default(),
            metrics,
            clock,
            settings,
        };
        let core = Arc::new(core);
        #[cfg(feature = "sql")]
        core.register_open(&self.caches);
        Ok(Cache { core, handles, key: PhantomData })
    }

    /// Rejects replicas where there are none; the error is one sentence.
    fn check_replicas(&self) -> Result<(), &'static str> {
        if self.draft.window_replicas.is_some() && self.link().is_none() {
            return Err("windows_on_replicas waits for replicas of Redis, and the embedded store has no replicas");
        }
        Ok(())
    }

    fn link(&self) -> Option<&Link> {
        self.caches.context.link.as_ref()
    }

    /// The receiver of change notifications, with the near cache.
    fn tracker(&self, name: &Arc<str>, settings: &Settings) -> Result<Arc<Tracker<V>>, CacheError> {
        let link = self.link();
        let near = self.near.check(settings.ttl, self.protocol.is_none(), link);
        let near = near.map_err(|reason| CacheError::Settings { cache: self.name.clone(), reason })?;
        let keys = CacheKeys::new(link.map_or(MEMORY_PREFIX, Link::prefix), &self.name);
        let near = near.map(|settings| Near::new(name, settings, link.map(Link::pulse)));
        Ok(Arc::new(Tracker::new(keys, near)))
    }

    /// The steps of the chosen protocol; the error is one sentence.
    fn store(&self, schema: u32, timeout: Duration, breaker: Breaker) -> Result<Store, String> {
        let (clock, link) = (self.caches.context.clock.clone(), self.link().cloned());
        let entries = &self.caches.entries;
        let keys = CacheKeys::new(link.as_ref().map_or(MEMORY_PREFIX, Link::prefix), &self.name);
        let store = match (&self.protocol, link) {
            (Some(protocol), link) => {
                let store =
                    link.clone().map_or_else(|| ProtocolStore::Memory(Arc::clone(entries)), ProtocolStore::Redis);
                let steps = protocol.open(ProtocolContext {
                    name: self.name.clone(),
                    keys,
                    store,
                    clock: clock.clone(),
                    schema,
                    has_versions: self.version.is_some(),
                })?;
                Store::other(steps, link, clock, breaker)
            }
            (None, None) => Store::memory(Arc::clone(entries), keys, clock, breaker),
            (None, Some(link)) => {
                let windows = self
                    .draft
                    .window_replicas
                    .map(|(count, timeout)| OnReplicas::new(count, timeout.min(REPLICAS_TIMEOUT_MAX)));
                let steps = RedisCache::new(link.clone(), keys).with_read_timeout(timeout).with_windows(windows);
                Store::redis(steps, link, clock, breaker)
            }
        };
        #[cfg(feature = "testing")]
        let store = store.with_gate(self.gate.clone());
        Ok(store)
    }
}
