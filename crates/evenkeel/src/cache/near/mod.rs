//! The near cache: decoded values in this process, in front of the store.
//!
//! The rules here prevent the known errors of published near caches (docs/spec/cache.md, "The near cache"):
//!
//! * An entry comes only from a read that is tracked: the connection that read it receives the notification of its next change.
//! * A placeholder is reserved before that read is sent. A notification about the key removes the placeholder, and with it the
//!   entry. (An insert after the reply would store the old value after the push message that should have removed it.)
//! * An entry is served only while its connection has recently proved that it receives notifications.
//! * An event that makes notifications unreliable ends all entries at once: each entry carries the number of its *flush epoch*.

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

/// Memory of an entry apart from its key and its value: its slot in the table and two allocations.
const OVERHEAD_BYTES: u64 = 160;

/// Why all entries are dropped at once. The names are the label `reason` of `evenkeel_cache_near_flushes_total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flush {
    /// New connections: no notifications were received while there were none.
    Epoch,
    /// The store reported that all entries changed: it was flushed.
    Everything,
}

/// The near cache of one cache.
pub(crate) struct Near<V> {
    entries: Arc<Entries<V>>,
    /// Entries of an earlier flush epoch are not served. Incremented before any other reaction to a flush.
    flush_epoch: AtomicU32,
    /// `None` if the store is in this process and notifies of every change before the step returns.
    pulse: Option<Arc<Pulse>>,
    settings: NearSettings,
    /// The maximum silence of a connection.
    silence_us_max: u64,
    /// The minimum weight of an entry, which limits the number of entries.
    weight_min: u64,
    metrics: NearMetrics,
}

type Entries<V> = QuickCache<Slot, Entry<V>, Weight, DefaultHashBuilder, Evictions>;

/// Why the near cache has no usable value.
#[derive(Clone, Copy)]
enum Miss {
    /// There is no entry that satisfies the read.
    Absent,
    /// There is one, but its connection is silent.
    Silent,
}

/// A time that the clocks will reach very soon ([`Clock::soon`](evenkeel_link::clock::Clock::soon)), read once per hit.
#[derive(Clone, Copy)]
pub(crate) struct Soon {
    pub(crate) here: Moment,
    /// By the store's clock.
    pub(crate) store_ms: u64,
}

/// An entry that may be served. The parts of [`Found`] are built only on request.
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
    /// `pulse` is the pulse of the link that receives the notifications, if the store is reached over a link.
    pub(crate) fn new(cache: &Arc<str>, settings: NearSettings, pulse: Option<Arc<Pulse>>) -> Self {
        let silence_us_max = u64::try_from(settings.silence_max.as_micros()).unwrap_or(u64::MAX);
        let metrics = NearMetrics::register(cache);
        let (capacity, entries, weight_min) = settings.capacity();
        // Cannot fail, because both numbers are set. If it did, the default would bound the cache as well.
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

    /// Returns `take` of the value of `key`, if it may be served and satisfies this read. `soon` is called only if there is an
    /// entry.
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

    /// Like `get`, for a caller that continues with a counted read if there is no value.
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

    /// The number of reads that it has served.
    pub(crate) fn hits(&self) -> u64 {
        self.metrics.hits.total()
    }

    /// Drops the entry of `key` and the placeholder of any read of it that is in flight.
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

    /// Whether the connection that would receive a notification is silent.
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
        // Not an entry that has replaced it meanwhile.
        let is_it = |entry: &Entry<V>| entry.flush_epoch == seen.flush_epoch && entry.until_ms() == seen.until_ms();
        if self.entries.remove_if(&key, is_it).is_some() {
            self.metrics.ended.increment(1);
        }
    }
}

impl<V: Send + Sync + 'static> Near<V> {
    /// Drops all entries and all placeholders.
    pub(crate) fn flush(&self, reason: Flush) {
        let flush_epoch = self.flush_epoch.fetch_add(1, Ordering::SeqCst).wrapping_add(1);
        self.metrics.flushed(reason);
        let (entries, size) = (Arc::clone(&self.entries), self.metrics.size.clone());
        let tidy = move || {
            entries.retain(|_, entry| !entry.is_before(flush_epoch));
            size.set(count(entries.len()));
        };
        // The dropped entries are not served any more. Freeing their memory may take a while and would block the task that
        // reads the socket.
        match Handle::try_current() {
            Ok(runtime) => _ = runtime.spawn_blocking(tidy),
            Err(_) => tidy(),
        }
    }
}

/// Reads the weight from the entry.
#[derive(Clone, Copy)]
struct Weight;

impl<V> Weighter<Slot, Entry<V>> for Weight {
    fn weight(&self, _key: &Slot, entry: &Entry<V>) -> u64 {
        u64::from(entry.weight)
    }
}

/// Counts evicted entries.
#[derive(Clone)]
struct Evictions(::metrics::Counter);

impl<V> Lifecycle<Slot, Entry<V>> for Evictions {
    /// Dropped without a lock, because the drop of a user's value may do anything.
    type RequestState = Vec<Entry<V>>;

    fn on_evict(&self, evicted: &mut Self::RequestState, _key: Slot, entry: Entry<V>) {
        self.0.increment(1);
        evicted.push(entry);
    }
}

fn count(entries: usize) -> f64 {
    u32::try_from(entries).map_or(f64::MAX, f64::from)
}
