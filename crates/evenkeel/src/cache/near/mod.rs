//! The near cache: decoded values in this process, in front of the store.
//!
//! A near cache that is wrong is worse than none, and every published one was wrong in the same few ways. The rules here answer
//! them (docs/spec/cache.md, "The near cache"):
//!
//! * An entry comes only from a read of which the store tells the next change, on the connection that tells it.
//! * Its place is taken before that read is sent; if anything is told about the key meanwhile, the place is gone and with it
//!   the entry. (An insert after the answer would put the old value in after the push that should have kept it out.)
//! * An entry is served only while its connection has lately proved that it hears what it is told.
//! * Whatever puts in doubt what was told ends all entries at once: they carry the number of their *era*.

mod entry;
mod metrics;
mod place;
mod reads;
mod settings;
mod slot;
pub(crate) mod tracker;

pub(crate) use place::{Filling, Reservation};
pub(crate) use reads::EntryRead;
pub(crate) use settings::{NearDraft, NearSettings};
pub(crate) use slot::{Lookup, Number, SlotRef};

use crate::cache::reading::demand::ReadPolicy;
use crate::cache::reading::found::{Found, Tier};
use entry::{Entry, FlushEpoch};
use evenkeel_link::Pulse;
use evenkeel_link::clock::Moment;
use evenkeel_link::support::guard;
use metrics::NearMetrics;
use quick_cache::sync::Cache as QuickCache;
use quick_cache::{DefaultHashBuilder, Lifecycle, OptionsBuilder, Weighter};
use slot::Slot;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;

/// What an entry costs besides its key and its value: its place in the table and two allocations.
const OVERHEAD_BYTES: u64 = 160;

/// Why all entries are dropped at once. The names are the label `reason` of `evenkeel_cache_near_flushes_total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flush {
    /// New connections: what changed while there were none was told to nobody.
    Epoch,
    /// The store said that everything has changed: it was flushed.
    Everything,
}

/// The near cache of one cache.
pub(crate) struct Near<V> {
    entries: Arc<Entries<V>>,
    /// Entries of an earlier era are not served. Raised before anything else is done about a doubt.
    flush_epoch: AtomicU32,
    /// `None` where the store is in this process and tells every change before it answers.
    pulse: Option<Arc<Pulse>>,
    settings: NearSettings,
    /// The longest that a connection may be silent.
    silence_us_max: u64,
    /// The least an entry weighs, so that not too many fit.
    weight_min: u64,
    metrics: NearMetrics,
}

type Entries<V> = QuickCache<Slot, Entry<V>, Weight, DefaultHashBuilder, Evictions>;

/// Why there is nothing to serve.
#[derive(Clone, Copy)]
enum Miss {
    /// There is no entry that would do.
    Absent,
    /// There is one, and its connection is silent.
    Silent,
}

/// What the clocks say very soon ([`Clock::soon`](evenkeel_link::clock::Clock::soon)), read once for a hit.
#[derive(Clone, Copy)]
pub(crate) struct Soon {
    pub(crate) here: Moment,
    /// By the store's clock.
    pub(crate) store_ms: u64,
}

/// An entry that may be served. What is not asked of it is not made.
pub(crate) struct Hit<V> {
    entry: Entry<V>,
    age_ms: u64,
}

impl<V> Hit<V> {
    #[inline]
    pub(crate) fn value(self) -> Option<Arc<V>> {
        self.entry.row
    }

    pub(crate) fn found(self) -> Found<V> {
        let (age, version) = (Duration::from_millis(self.age_ms), self.entry.version());
        Found { value: self.entry.row, tier: Tier::Near, age, version, stale: None }
    }
}

impl<V> Near<V> {
    /// `pulse` is that of the link which tells of changes, if it is a link.
    pub(crate) fn new(cache: &Arc<str>, settings: NearSettings, pulse: Option<Arc<Pulse>>) -> Self {
        let silence_us_max = u64::try_from(settings.silence_max.as_micros()).unwrap_or(u64::MAX);
        let metrics = NearMetrics::register(cache);
        let (capacity, entries, weight_min) = settings.capacity();
        // Cannot fail: both numbers are named. If it did, the default would bound the cache all the same.
        let mut options = OptionsBuilder::new();
        options.estimated_items_capacity(entries).weight_capacity(capacity);
        if let Some(shards) = settings.shards_max() {
            options.shards(shards);
        }
        let options = options.build();
        let evictions = Evictions(metrics.evictions("capacity"));
        let entries = match options {
            Ok(options) => Entries::with_options(options, Weight, DefaultHashBuilder::default(), evictions),
            Err(_) => Entries::with(entries, capacity, Weight, DefaultHashBuilder::default(), evictions),
        };
        Self {
            entries: Arc::new(entries),
            flush_epoch: AtomicU32::new(1),
            pulse,
            settings,
            silence_us_max,
            weight_min,
            metrics,
        }
    }

    /// What `take` makes of the value of `key`, if it may be served and will do for this read. `soon` is asked only if there is one.
    #[inline]
    pub(crate) fn get<R>(
        &self,
        key: impl Lookup,
        soon: impl FnOnce() -> Soon,
        policy: ReadPolicy,
        take: impl FnOnce(Hit<V>) -> R,
    ) -> Option<R> {
        self.find(key, soon, policy, take).map_err(|miss| self.missed(miss)).ok()
    }

    /// The same for one who goes another way if there is none, and will be counted there.
    #[inline]
    pub(crate) fn peek(&self, key: impl Lookup, soon: impl FnOnce() -> Soon, policy: ReadPolicy) -> Option<Hit<V>> {
        self.find(key, soon, policy, |hit| hit).ok()
    }

    #[inline]
    fn find<R>(
        &self,
        key: impl Lookup,
        soon: impl FnOnce() -> Soon,
        policy: ReadPolicy,
        take: impl FnOnce(Hit<V>) -> R,
    ) -> Result<R, Miss> {
        let Some(entry) = self.entries.get(&key) else { return Err(Miss::Absent) };
        let soon = soon();
        if self.is_over(&entry, soon) {
            self.drop_entry(key, &entry);
            return Err(Miss::Absent);
        }
        if self.is_silent(&entry, soon) {
            return Err(Miss::Silent);
        }
        let age_ms = soon.store_ms.saturating_sub(entry.loaded_at_ms);
        if !policy.accepts_near(Duration::from_millis(age_ms), entry.version()) {
            return Err(Miss::Absent);
        }
        self.metrics.hits.increment(1);
        Ok(take(Hit { entry, age_ms }))
    }

    /// Drops the entry of `key`, and any read of it that is on its way loses its place.
    pub(crate) fn evict(&self, key: &[u8]) {
        if self.entries.remove(&SlotRef::from(key)).is_some() {
            self.metrics.invalidated.increment(1);
        }
    }

    fn flush_epoch(&self) -> FlushEpoch {
        self.flush_epoch.load(Ordering::SeqCst)
    }

    #[inline]
    fn is_over(&self, entry: &Entry<V>, soon: Soon) -> bool {
        entry.flush_epoch != self.flush_epoch() || soon.store_ms >= entry.until_ms()
    }

    /// Whether the connection that would tell of a change has gone silent.
    #[inline]
    fn is_silent(&self, entry: &Entry<V>, soon: Soon) -> bool {
        let Some(pulse) = &self.pulse else { return false };
        pulse.silence_us(usize::from(entry.connection), soon.here) > self.silence_us_max && guard("near_silence")
    }

    fn missed(&self, miss: Miss) {
        match miss {
            Miss::Absent => self.metrics.misses.increment(1),
            Miss::Silent => self.metrics.silent.increment(1),
        }
    }

    #[cold]
    fn drop_entry(&self, key: impl Lookup, seen: &Entry<V>) {
        // Not one that came into its place meanwhile.
        let is_it = |entry: &Entry<V>| entry.flush_epoch == seen.flush_epoch && entry.until_ms() == seen.until_ms();
        if self.entries.remove_if(&key, is_it).is_some() {
            self.metrics.ended.increment(1);
        }
    }
}

impl<V: Send + Sync + 'static> Near<V> {
    /// Drops all entries, and whatever is on its way.
    pub(crate) fn flush(&self, reason: Flush) {
        let flush_epoch = self.flush_epoch.fetch_add(1, Ordering::SeqCst).wrapping_add(1);
        self.metrics.flushed(reason);
        let (entries, size) = (Arc::clone(&self.entries), self.metrics.size.clone());
        let tidy = move || {
            entries.retain(|_, entry| !entry.is_before(flush_epoch));
            size.set(count(entries.len()));
        };
        // None of them is served any more; to give their memory back may take a while, and a socket is waiting to be read.
        match Handle::try_current() {
            Ok(runtime) => _ = runtime.spawn_blocking(tidy),
            Err(_) => tidy(),
        }
    }
}

/// An entry knows what it weighs.
#[derive(Clone, Copy)]
struct Weight;

impl<V> Weighter<Slot, Entry<V>> for Weight {
    fn weight(&self, _key: &Slot, entry: &Entry<V>) -> u64 {
        u64::from(entry.weight)
    }
}

/// Counts what had to make room.
#[derive(Clone)]
struct Evictions(::metrics::Counter);

impl<V> Lifecycle<Slot, Entry<V>> for Evictions {
    /// Dropped when no lock is held: the drop of a user's value may do anything.
    type RequestState = Vec<Entry<V>>;

    fn on_evict(&self, evicted: &mut Self::RequestState, _key: Slot, entry: Entry<V>) {
        self.0.increment(1);
        evicted.push(entry);
    }
}

fn count(entries: usize) -> f64 {
    u32::try_from(entries).map_or(f64::MAX, f64::from)
}
