//! [`CacheBuilder`]: the settings of a cache before it is opened.

use super::log_limit::LogLimit;
use super::{Draft, Settings};
use crate::cache::cache::Cache;
use crate::cache::core::{Core, VersionOf, WeightOf, schema_fingerprint};
use crate::cache::loading::admission::Admission;
use crate::cache::loading::payload::Payloads;
use crate::cache::loading::single_flight::SingleFlight;
use crate::cache::metrics::CacheMetrics;
use crate::cache::near::tracker::Tracker;
use crate::cache::near::{Near, NearDraft};
use crate::cache::reading::demand::ReadPolicy;
use crate::cache::reading::waiters::Waiters;
use crate::cache::store::breaker::Breaker;
#[cfg(feature = "testing")]
use crate::cache::store::gate::StepGate;
use crate::cache::store::protocol::{CacheProtocol, ProtocolContext, ProtocolStore};
use crate::cache::store::registry::Caches;
use crate::cache::store::{Kind, Store};
use crate::cache::writing::deferral::Deferral;
use crate::cache::writing::ledger::Ledger;
use crate::cache::writing::replay::Replayer;
use evenkeel_link::Link;
use evenkeel_link::support::guard;
use evenkeel_protocol::cache::error::CacheError;
use evenkeel_protocol::cache::keys::CacheKeys;
use evenkeel_protocol::cache::memory::MemoryCache;
use evenkeel_protocol::cache::on_replicas::OnReplicas;
use evenkeel_protocol::cache::redis::RedisCache;
use evenkeel_protocol::cache::steps::CacheSteps;
use evenkeel_protocol::codec::json::Json;
use evenkeel_protocol::codec::{Codec, check_id};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The key prefix in an embedded store, which has no other users.
pub(crate) const MEMORY_PREFIX: &str = "evenkeel";

/// The longest wait for replicas.
const REPLICAS_TIMEOUT_MAX: Duration = Duration::from_secs(3600);

/// The settings of a cache before it is opened. Only the [`ttl`](Self::ttl) is required. Durations above 34 years count as 34 years.
///
/// The settings are grouped below: lifetime, loading, freshness and writes, outages, stored values, and the near cache.
/// [`open`](Self::open) is the last call.
#[must_use = "a builder does nothing until `open`"]
pub struct CacheBuilder<K: ?Sized, V, C = Json> {
    caches: Arc<Caches>,
    name: String,
    pub(super) draft: Draft,
    pub(crate) near: NearDraft,
    codec: C,
    protocol: Option<Arc<dyn CacheProtocol>>,
    pub(super) version: Option<VersionOf<V>>,
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

    setters! {
        /// Selects another protocol than the fenced one, for comparison. The crate `evenkeel-published` has leases, version comparison
        /// and the delayed double delete, and documents what each of them leaves open.
        ///
        /// Without the fenced protocol there are no update windows, no near cache, and no invalidations in a unit of work.
        pub fn protocol(protocol: impl CacheProtocol + 'static) => protocol = Some(Arc::new(protocol));

        /// For test suites: holds the protocol steps of this cache, or makes them fail.
        #[cfg(feature = "testing")]
        pub fn gate(gate: &StepGate) => gate = Some(gate.clone());
    }
}

impl<K: ?Sized, V: Send + Sync + 'static, C: Codec<V>> CacheBuilder<K, V, C> {
    /// Opens the cache.
    ///
    /// # Errors
    /// [`CacheError::Settings`]: one sentence that names the setting that cannot work and how to change it.
    pub async fn open(self) -> Result<Cache<K, V>, CacheError> {
        let settings = Settings::check(&self.name, &self.draft)?;
        let metrics = Arc::new(CacheMetrics::register(&self.name.as_str().into()));
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
        store.register_tracker(tracker.front(), hub);
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
            bypass_reads: AtomicBool::new(false),
            bypass_fills: AtomicBool::new(false),
            replayer,
            unreadable_log: LogLimit::default(),
            unstorable_log: LogLimit::default(),
            other_schema_log: LogLimit::default(),
            other_keys_log: LogLimit::default(),
            metrics,
            clock,
            settings,
            _reporter: Arc::clone(&self.caches.context.reporter),
        };
        let core = Arc::new(core);
        core.register_open(&self.caches);
        self.caches.context.reporter.add(&core);
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
        let (steps, kind): (Arc<dyn CacheSteps>, Kind) = match (&self.protocol, link) {
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
                (steps, Kind::Other(link))
            }
            (None, None) => {
                let steps = MemoryCache::new(Arc::clone(entries), clock.clone(), keys);
                (Arc::new(steps), Kind::Memory(Arc::clone(entries)))
            }
            (None, Some(link)) => {
                let windows = self
                    .draft
                    .window_replicas
                    .map(|(count, timeout)| OnReplicas::new(count, timeout.min(REPLICAS_TIMEOUT_MAX)));
                let steps = RedisCache::new(link.clone(), keys).with_read_timeout(timeout).with_windows(windows);
                (Arc::new(steps), Kind::Redis(link))
            }
        };
        let store = Store::new(steps, kind, clock, breaker);
        #[cfg(feature = "testing")]
        let store = store.with_gate(self.gate.clone());
        Ok(store)
    }
}
