//! [`CacheBuilder`]: what may be said about a cache before it is opened.

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
use crate::cache::protocol::{PlainStore, Protocol, PublishedCache};
use crate::cache::reading::demand::ReadPolicy;
use crate::cache::reading::waiters::Waiters;
use crate::cache::store::Store;
use crate::cache::store::breaker::Breaker;
#[cfg(feature = "testing")]
use crate::cache::store::gate::StepGate;
use crate::cache::writing::deferral::Deferral;
use crate::cache::writing::ledger::Ledger;
use crate::cache::writing::replay::Replayer;
use crate::keel::{Backend, Keel};
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

/// The namespace of keys in an embedded store, where there is nobody to be apart from.
pub(crate) const MEMORY_PREFIX: &str = "evenkeel";

/// The longest wait for replicas.
const REPLICAS_TIMEOUT_MAX: Duration = Duration::from_secs(3600);

/// What may be said about a cache before it is opened. Only the ttl must be. Spans of more than 34 years are taken as 34 years.
#[must_use = "a builder does nothing until `build`"]
pub struct CacheBuilder<K: ?Sized, V, C = Json> {
    keel: Keel,
    name: String,
    draft: Draft,
    pub(crate) near: NearDraft,
    codec: C,
    protocol: Protocol,
    version: Option<VersionOf<V>>,
    pub(crate) weight_of: Option<WeightOf<V>>,
    #[cfg(feature = "testing")]
    gate: Option<StepGate>,
    types: PhantomData<fn(&K) -> V>,
}

impl Keel {
    /// Begins a cache called `name`: 1 to 64 letters, digits, `-`, `_` or `.`, the same in every process of the fleet.
    ///
    /// Open it once and clone the handle: two handles that do not know of each other would not cut each other's loads off.
    ///
    /// Caches of one keel share their tasks. Their number has no limit, and each name costs memory and metrics of its own: for thousands of tenants
    /// put the tenant into the key of one cache, as in `cache::<(u32, u64), User>("user")`.
    pub fn cache<K: ?Sized, V>(&self, name: &str) -> CacheBuilder<K, V> {
        CacheBuilder {
            keel: self.clone(),
            name: name.to_owned(),
            draft: Draft::default(),
            near: NearDraft::default(),
            codec: Json,
            protocol: Protocol::default(),
            version: None,
            weight_of: None,
            #[cfg(feature = "testing")]
            gate: None,
            types: PhantomData,
        }
    }
}

impl<K: ?Sized, V, C> CacheBuilder<K, V, C> {
    /// How long a value lives, counted from before the row was read; nothing prolongs it. It bounds how long a lost invalidation
    /// can hurt. Required.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.draft.ttl = Some(ttl);
        self
    }

    /// How long it is remembered that a row does not exist. Default: a tenth of the ttl, between 1 s and 30 s. An insert must
    /// invalidate its key like any other write.
    pub fn absent_ttl(mut self, ttl: Duration) -> Self {
        self.draft.absent_ttl = Some(ttl);
        self
    }

    /// By which part of itself each ttl is varied, up and down, so that rows that were loaded together do not expire together.
    /// Default 0.1; 0 to 0.5.
    pub fn spread(mut self, part: f64) -> Self {
        self.draft.spread = Some(part);
        self
    }

    /// How long nobody else loads a key that somebody is loading. Default 500 ms, less for ttls below 4 s. A load that takes
    /// longer is still stored, but a second one may run beside it: make it longer than most loads take.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.draft.lease = Some(lease);
        self
    }

    /// How long after its lease a loaded value may still be stored. Default 1.5 s, less for ttls below 4 s. What took longer
    /// is returned to its readers and not stored, so a query that always takes longer is never cached: a warning says so once
    /// (`evenkeel_cache_refused_fills_total{reason="over_budget"}` counts).
    pub fn load_budget(mut self, budget: Duration) -> Self {
        self.draft.load_budget = Some(budget);
        self
    }

    /// How long a load may take before it is dropped and its readers get an error. Default 10 s.
    pub fn load_timeout(mut self, timeout: Duration) -> Self {
        self.draft.load_timeout = Some(timeout);
        self
    }

    /// How long before its end a value that is read is refreshed in the background. Default: the last tenth of the ttl, at most
    /// 2 s, but never less than lease + load budget. A key that is read all the time then never goes missing by expiry (C5).
    /// Zero turns it off: readers wait for a load once per ttl.
    pub fn refresh_window(mut self, window: Duration) -> Self {
        self.draft.refresh_window = Some(window);
        self
    }

    /// How long a value may be served stale after [`Cache::invalidate`] while one reader loads the new one. Default zero: readers
    /// wait for that load. With it, nobody waits, and a reader may see for this long what was invalidated, its own writes
    /// included.
    pub fn keep(mut self, keep: Duration) -> Self {
        self.draft.keep = Some(keep);
        self
    }

    /// Until which age (counted from its load, not from its end) a value may be served in place of an error, when it has ended or
    /// was invalidated and loading the new one fails, takes too long or is turned away. Default: an error is an error.
    ///
    /// The bound is absolute: nothing renews it, neither use nor failures nor invalidations, and after
    /// [`Cache::purge`] there is nothing to serve. A value served so says it
    /// ([`Stale::LoaderFailed`](crate::cache::Stale::LoaderFailed)). It takes the place of an error of [`Freshness::Eventual`](crate::cache::Freshness)
    /// reads; others say for themselves what they bear. It is not there if the store evicted it, cannot be reached, or is under a
    /// published protocol. Entries take up room in the store for this long.
    pub fn fail_safe(mut self, age_max: Duration) -> Self {
        self.draft.fail_safe = Some(age_max);
        self
    }

    /// How long a reader that has a value by [`fail_safe`](Self::fail_safe) waits for the load of a new one; then it gets that
    /// value, and the load goes on in the background, up to [`load_timeout`](Self::load_timeout), and is stored. Default: it waits.
    pub fn load_soft_timeout(mut self, timeout: Duration) -> Self {
        self.draft.load_soft_timeout = Some(timeout);
        self
    }

    /// How long nobody loads a key after a load of it has failed. Default 250 ms.
    pub fn retry_after(mut self, pause: Duration) -> Self {
        self.draft.retry_after = Some(pause);
        self
    }

    /// How long a reader waits for somebody else's load, or for its turn to load. What it does then, [`after_wait`](Self::after_wait)
    /// says; a turn that did not come is [`CacheError::Overloaded`]. Default: the load timeout.
    pub fn wait_max(mut self, wait: Duration) -> Self {
        self.draft.wait_max = Some(wait);
        self
    }

    /// What a reader does that has waited for somebody else's load for as long as `wait_max`. Default [`AfterWait::Load`].
    pub fn after_wait(mut self, after_wait: AfterWait) -> Self {
        self.draft.after_wait = after_wait;
        self
    }

    /// Readers of this cache that may wait at once in this process: for somebody else's load, or for their turn to load. One
    /// more is turned away with [`CacheError::Busy`] instead of waiting, and holding its request's memory, behind all of them.
    /// Default 10,000. A batch is one reader.
    pub fn waiters_max(mut self, readers: usize) -> Self {
        self.draft.waiters_max = Some(readers);
        self
    }

    /// How long a reader waits for an answer of Redis before it asks the loader instead. Default 500 ms; it fires between this
    /// and 9/8 of it, and counts a process that was not running itself for little. The link's own response time-out goes first
    /// if it is shorter. Invalidations are given all of that: they must get through.
    ///
    /// Make it longer than your Redis stands still by itself (the fork for a snapshot of many gigabytes, a long script), or
    /// each such pause sends readers to the database, at most `loads_max` at once.
    pub fn store_timeout(mut self, timeout: Duration) -> Self {
        self.draft.store_timeout = Some(timeout);
        self
    }

    /// After how many reads in a row without an answer Redis is left alone, and for how long; then one reader tries, and the
    /// others follow if it got an answer. Meanwhile reads go to the loader at once, at most `loads_max` of them. Default 3,
    /// 500 ms. An invalidation is always sent, whatever the breaker says.
    ///
    /// What counts is silence, and a server that says it is loading or busy. A connection that broke is the link's affair: it
    /// turns callers away by itself until it has another, and a new connection closes the breaker.
    pub fn breaker(mut self, failures: u32, pause: Duration) -> Self {
        self.draft.breaker = Some((failures, pause));
        self
    }

    /// Loads of this cache that may run at once in this process, each of another key. Default 64. It is what the database has
    /// to bear when Redis is empty or away.
    pub fn loads_max(mut self, loads: usize) -> Self {
        self.draft.loads_max = Some(loads);
        self
    }

    /// For how long this process remembers its invalidations, to drive them again on a Redis that may have lost them. Default
    /// 60 s. Make it longer than a failover and what its replica may lag behind.
    pub fn remember(mut self, span: Duration) -> Self {
        self.draft.replay_window = Some(span);
        self
    }

    /// How many invalidations are remembered at most. Default 10,000. When there are more, the oldest are not driven again
    /// (`evenkeel_cache_invalidations_forgotten_total`), and a value that a failover brought back lasts until its ttl ends.
    pub fn remember_max(mut self, invalidations: usize) -> Self {
        self.draft.replay_max = Some(invalidations);
        self
    }

    /// From how many bytes on values are compressed (LZ4), if that makes them smaller. Default 4 KiB.
    pub fn compress_from(mut self, bytes: usize) -> Self {
        self.draft.compress_bytes_min = Some(bytes);
        self
    }

    /// Values above this many bytes (before compression) are returned and not stored. Default 16 MiB.
    pub fn value_bytes_max(mut self, bytes: usize) -> Self {
        self.draft.value_bytes_max = Some(bytes);
        self
    }

    /// The number of the stored form of `V`. Raise it when that changes so that older programs could not read it: entries of
    /// another number are neither read nor overwritten while they live, so two versions of a program can run side by side.
    /// Default 0.
    pub fn schema(mut self, number: u32) -> Self {
        self.draft.schema = number;
        self
    }

    /// Where a row's version is found in its value. With it the store refuses rows older than the newest it has heard of,
    /// from a loader or from [`Cache::invalidate_at`]. One domain a cache: it must grow with every write of a row, across a
    /// delete and a new insert too. An absent row has no version.
    pub fn version(mut self, version: impl Fn(&V) -> u64 + Send + Sync + 'static) -> Self {
        self.version = Some(Arc::new(version));
        self
    }

    /// How new the values of this cache must be where a read does not say it: [`Freshness::Eventual`] by default.
    pub fn freshness(mut self, freshness: Freshness) -> Self {
        self.draft.freshness = freshness;
        self
    }

    /// Reads are [`Freshness::Fresh`] where they do not ask for less, the batches too: the row as it is now (C2), if all writes go
    /// through [`Cache::write`].
    pub fn strong(self) -> Self {
        self.freshness(Freshness::Fresh)
    }

    /// What a read does that finds an update window open and nothing that it may serve. Default [`WhileWriting::Wait`].
    pub fn while_writing(mut self, choice: WhileWriting) -> Self {
        self.draft.while_writing = choice;
        self
    }

    /// How long an update window stays open after its writer was last heard of. Default 3 s. [`Cache::write`] renews it at a third
    /// of this; it is what readers may have to wait for a writer that died.
    pub fn write_window(mut self, window: Duration) -> Self {
        self.draft.window = Some(window);
        self
    }

    /// Waits, before a write begins, until `count` replicas of Redis have its window (Redis's `WAIT`), for at most `timeout`, and at most an hour. If fewer
    /// have it by then, the write is refused ([`CacheError::WindowNotReplicated`]) and its window taken back.
    ///
    /// What it is: a failover to one of those replicas does not lose the window. What it is not: consensus. Redis promotes a
    /// replica that lacks the window if it likes, a replica that has it may lose it in a crash, and the end of the window is not
    /// waited for. Writes of one process then begin one after another, each a round trip to the replicas long.
    pub fn windows_on_replicas(mut self, count: u32, timeout: Duration) -> Self {
        self.draft.window_replicas = Some((count, timeout));
        self
    }

    /// The longest time a transaction may take to commit after its window has lapsed (its writer died or was cut off). Default
    /// 60 s. That long nothing stored lives longer than the `suspect_ttl`. Make it longer than your database's own limits.
    pub fn transaction_max(mut self, span: Duration) -> Self {
        self.draft.transaction_max = Some(span);
        self
    }

    /// How long a value lives at most that is stored while a lapsed writer may still commit. Default 1 s.
    pub fn suspect_ttl(mut self, ttl: Duration) -> Self {
        self.draft.suspect_ttl = Some(ttl);
        self
    }

    /// Loaders may read replicas that lag behind the primary by at most `lag_max`. [`Cache::get_from`] and
    /// [`Cache::get_many_from`] tell the loader where it may read; the loaders of the other calls are told nothing and must
    /// read the primary.
    ///
    /// A replica is not asked by reads that need the newest row, for `lag_max` after an invalidation that named no version,
    /// and for an entry that was created anew (it was evicted, say, and what it knew of older versions with it).
    ///
    /// Not guaranteed: anything, if a replica lags further behind than this. Measure it, and take a replica that does out of use.
    pub fn reads_replicas(mut self, lag_max: Duration) -> Self {
        self.draft.replica_lag_max = Some(lag_max);
        self
    }

    /// Another way of keeping old values out than the default, to compare; [`Protocol`] says what each leaves open.
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// How values become bytes. Default [`Json`]. A codec of your own needs an [`id`](Codec::id) from 64 to 127.
    ///
    /// A value is not stored if the codec refuses it, or cannot read what it wrote: it is returned to its readers, and the next read loads
    /// it again (`evenkeel_cache_refused_fills_total{reason="codec"}`, and a line in the log once a minute). Encoded values above
    /// 64 KiB are stored without being read back. An entry that cannot be decoded is loaded anew and replaced, if it says that it is of
    /// this codec and schema and is older than a second.
    pub fn codec<D: Codec<V>>(self, codec: D) -> CacheBuilder<K, V, D> {
        CacheBuilder {
            keel: self.keel,
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

    /// Lets a test hold the steps of this cache.
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
    /// [`CacheError::Settings`]: one sentence that says what cannot work and what to change.
    pub fn build(self) -> Result<Cache<K, V>, CacheError> {
        let settings = Settings::check(&self.name, &self.draft)?;
        let metrics = Arc::new(CacheMetrics::register(&self.name));
        let clock = self.keel.clock().clone();
        let refused = |reason| CacheError::Settings { cache: self.name.clone(), reason };
        check_id(&self.codec, guard("cache_codec_id_checked")).map_err(refused)?;
        let schema = schema_fingerprint(self.codec.id(), settings.schema);
        self.check_protocol().map_err(|reason| refused(reason.to_owned()))?;
        let is_fenced = self.protocol == Protocol::Fenced;
        ReadPolicy::new(settings.freshness)
            .check(self.version.is_some(), is_fenced)
            .map_err(|error| CacheError::Settings { cache: self.name.clone(), reason: error.to_string() })?;
        let breaker =
            Breaker::new(settings.breaker_failures, settings.breaker_pause, clock.clone(), Arc::clone(&metrics));
        let name: Arc<str> = self.name.as_str().into();
        let tracker = self.tracker(&name, &settings)?;
        let hub = &self.keel.caches().hub;
        hub.register(self.keel.link(), &self.keel.caches().entries);
        let store = self.store(schema, settings.store_timeout, breaker).with_tracker(&tracker);
        let waiters = Arc::new(Waiters::new(settings.waiters_max, Arc::clone(&metrics)));
        let ledger = Ledger::new(settings.replay_window, settings.replay_max);
        let deferral = Deferral::of(&self.keel, &self.name);
        let replayer = Arc::new(Replayer::new(&store, ledger, deferral, &clock, &metrics, hub));
        let handles = self.keel.caches().enter(&self.name, &replayer)?;
        // Not before: one that is refused would take the place of the one that is open.
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
        core.make_known(&self.keel);
        Ok(Cache { core, handles, key: PhantomData })
    }

    /// Whether the protocol has what it needs, in one sentence if not.
    fn check_protocol(&self) -> Result<(), &'static str> {
        if self.protocol == Protocol::Version && self.version.is_none() {
            return Err("Protocol::Version compares versions; say where a value has its version with version(..)");
        }
        if self.draft.window_replicas.is_some() && matches!(self.keel.backend(), Backend::Memory(_)) {
            return Err("windows_on_replicas waits for replicas of Redis, and the embedded store has no replicas");
        }
        Ok(())
    }

    /// What hears of the changes in the store, and the near cache that it keeps.
    fn tracker(&self, name: &Arc<str>, settings: &Settings) -> Result<Arc<Tracker<V>>, CacheError> {
        let link = self.keel.link();
        let near = self.near.check(settings.ttl, self.protocol, link);
        let near = near.map_err(|reason| CacheError::Settings { cache: self.name.clone(), reason })?;
        let keys = CacheKeys::new(link.map_or(MEMORY_PREFIX, Link::prefix), &self.name);
        let near = near.map(|settings| Near::new(name, settings, link.map(Link::pulse)));
        Ok(Arc::new(Tracker::new(keys, near)))
    }

    fn store(&self, schema: u32, timeout: Duration, breaker: Breaker) -> Store {
        let clock = self.keel.clock().clone();
        let caches = self.keel.caches();
        let (plain, link) = match self.keel.backend() {
            Backend::Memory(_) => {
                let keys = CacheKeys::new(MEMORY_PREFIX, &self.name);
                (PlainStore::memory(Arc::clone(&caches.plain), clock.clone(), keys), None)
            }
            Backend::Redis(link) => {
                let keys = CacheKeys::new(link.prefix(), &self.name);
                (PlainStore::redis(link.clone(), clock.clone(), keys), Some(link.clone()))
            }
        };
        let store = match (PublishedCache::new(self.protocol, plain, schema, &self.keel, &self.name), link) {
            (Some(steps), link) => Store::published(steps, link, clock, breaker),
            (None, None) => {
                let keys = CacheKeys::new(MEMORY_PREFIX, &self.name);
                Store::memory(Arc::clone(&caches.entries), keys, clock, breaker)
            }
            (None, Some(link)) => {
                let keys = CacheKeys::new(link.prefix(), &self.name);
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
        store
    }
}
