//! The storage of the embedded backend: a sharded hash table, bounded by bytes.
//!
//! Eviction is CLOCK (second chance): a hand moves over the slots of each shard, skips a slot once if it was read since the hand's
//! last visit, and evicts it otherwise. Entries with an open update window are never evicted, and are stored also above the bound: they are small, and the loss of one
//! would allow a fill with a value that its writer is about to replace. An evicted entry takes the permission to fill with it, so
//! eviction costs loads, never correctness.

use super::Next;
use super::listeners::{EntryListener, Listeners};
use crate::cache::header::Entry;
use bytes::Bytes;
use evenkeel_link::support::guard;
use hashbrown::HashTable;
use parking_lot::RwLock;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A power of two, well above the number of threads that use the store at once.
const SHARDS: usize = 64;
/// The memory of an entry in addition to its key and its bytes: the slot, its place in the table, two allocations.
const OVERHEAD_BYTES: usize = 128;

/// The entries of all embedded caches of a program, bounded by `max_bytes`.
#[derive(Debug)]
pub struct EntryStore {
    shards: Box<[RwLock<Shard>]>,
    hasher: RandomState,
    used_bytes: AtomicUsize,
    max_bytes: usize,
    /// The shard that the next eviction examines first.
    next_shard: AtomicUsize,
    listeners: Listeners,
}

/// Slots in a dense list, so that the hand moves over contiguous memory.
#[derive(Debug, Default)]
struct Shard {
    index: HashTable<usize>,
    slots: Vec<Slot>,
    used_bytes: usize,
    hand: usize,
}

#[derive(Debug)]
struct Slot {
    hash: u64,
    key: Box<[u8]>,
    bytes: Bytes,
    ends_at_ms: u64,
    is_exempt: bool,
    was_read: AtomicBool,
}

impl EntryStore {
    /// An empty store. Above `max_bytes` (keys, headers, payloads and the overhead of the table) entries are evicted; a single entry
    /// above the bound is not stored, unless an update window is open in it.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| RwLock::default()).collect(),
            hasher: RandomState::new(),
            used_bytes: AtomicUsize::new(0),
            max_bytes,
            next_shard: AtomicUsize::new(0),
            listeners: Listeners::default(),
        }
    }

    /// Registers a listener for every change. It is held weakly.
    pub fn listen<L: EntryListener + 'static>(&self, listener: &Arc<L>) {
        let listener: Arc<dyn EntryListener> = Arc::<L>::clone(listener);
        self.listeners.add(&Arc::downgrade(&listener));
    }

    /// Bytes in use.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.used_bytes.load(Ordering::Relaxed)
    }

    /// The number of stored entries, including expired ones that were not removed yet.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().slots.len()).sum()
    }

    /// Whether the store is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entry under `key`, which may have expired.
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<Bytes> {
        let hash = self.hasher.hash_one(key);
        let shard = self.shard(hash).read();
        let slot = shard.slots.get(shard.find(hash, key)?)?;
        // Read before the store, so that a hot entry's cache line stays shared.
        if !slot.was_read.load(Ordering::Relaxed) {
            slot.was_read.store(true, Ordering::Relaxed);
        }
        Some(slot.bytes.clone())
    }

    /// Stores arbitrary bytes under `key`, as another program could in Redis.
    #[cfg(feature = "testing")]
    pub fn put_raw(&self, key: &[u8], bytes: Bytes) {
        let hash = self.hasher.hash_one(key);
        self.put(&mut self.shard(hash).write(), hash, key, (bytes, u64::MAX, false));
        self.notify(key);
    }

    /// Removes `key`, as an eviction would.
    pub fn remove(&self, key: &[u8]) {
        let hash = self.hasher.hash_one(key);
        self.take(&mut self.shard(hash).write(), hash, key);
        self.notify(key);
    }

    /// Removes everything.
    pub fn clear(&self) {
        for shard in &self.shards {
            let shard = std::mem::take(&mut *shard.write());
            self.used_bytes.fetch_sub(shard.used_bytes, Ordering::Relaxed);
        }
        self.listeners.notify(|listener| listener.all_changed());
    }

    /// Applies `rules` to the entry under `key` while holding its shard's write lock. An expired entry is passed to them, too.
    pub fn update<R>(&self, key: &[u8], now_ms: u64, rules: impl FnOnce(Option<Bytes>) -> (Next, R)) -> R {
        let hash = self.hasher.hash_one(key);
        let mut shard = self.shard(hash).write();
        let stored = shard.find(hash, key).and_then(|at| shard.slots.get(at)).map(|slot| slot.bytes.clone());
        let (next, answer) = rules(stored);
        let mut expired = None;
        match next {
            Next::Keep => return answer,
            Next::Delete => self.take(&mut shard, hash, key),
            Next::Write(entry) => {
                expired = shard.find_expired(now_ms).and_then(|at| self.forget(&mut shard, at));
                self.put(&mut shard, hash, key, weigh(&entry));
            }
        }
        drop(shard);
        self.notify(key);
        expired.iter().for_each(|slot| self.notify(&slot.key));
        self.shrink();
        answer
    }

    fn put(&self, shard: &mut Shard, hash: u64, key: &[u8], (bytes, ends_at_ms, is_exempt): (Bytes, u64, bool)) {
        self.take(shard, hash, key);
        let slot = Slot { hash, key: key.into(), bytes, ends_at_ms, is_exempt, was_read: AtomicBool::new(false) };
        // A window counts also where no entry fits: without it a load would be stored while its row is being written.
        if slot.cost() > self.max_bytes && !(is_exempt && guard("memory_window_above_the_bound")) {
            return;
        }
        self.used_bytes.fetch_add(slot.cost(), Ordering::Relaxed);
        shard.insert(slot);
    }

    fn take(&self, shard: &mut Shard, hash: u64, key: &[u8]) {
        if let Some(at) = shard.find(hash, key) {
            self.forget(shard, at);
        }
    }

    fn forget(&self, shard: &mut Shard, at: usize) -> Option<Slot> {
        let slot = shard.remove(at)?;
        self.used_bytes.fetch_sub(slot.cost(), Ordering::Relaxed);
        Some(slot)
    }

    fn notify(&self, key: &[u8]) {
        if guard("memory_notifies") {
            self.listeners.notify(|listener| listener.entry_changed(key));
        }
    }

    /// Evicts until the bound holds, each time from the fuller of two shards, so that all shards stay about equally full. Stops
    /// when two rounds over all shards found nothing to evict.
    fn shrink(&self) {
        let mut failed_tries = 0;
        while self.used_bytes() > self.max_bytes && failed_tries < SHARDS * 2 {
            let turn = self.next_shard.fetch_add(1, Ordering::Relaxed);
            // The second shard differs in every round.
            let [one, other] = [turn, turn / SHARDS * 7 + turn + 1].map(|at| &self.shards[at % SHARDS]);
            let fuller = if one.read().used_bytes >= other.read().used_bytes { one } else { other };
            let mut shard = fuller.write();
            match shard.find_victim() {
                Some(victim) => {
                    let evicted = self.forget(&mut shard, victim);
                    drop(shard);
                    evicted.iter().for_each(|slot| self.notify(&slot.key));
                    failed_tries = 0;
                }
                None => failed_tries += 1,
            }
        }
    }

    /// The table uses the lowest and the highest bits of the hash; the shard is selected by others.
    fn shard(&self, hash: u64) -> &RwLock<Shard> {
        let at = usize::try_from((hash >> 40) & (SHARDS as u64 - 1)).unwrap_or(0);
        &self.shards[at]
    }
}

impl Shard {
    fn find(&self, hash: u64, key: &[u8]) -> Option<usize> {
        self.index.find(hash, |&at| self.slots.get(at).is_some_and(|slot| *slot.key == *key)).copied()
    }

    fn insert(&mut self, slot: Slot) {
        self.used_bytes += slot.cost();
        let Self { index, slots, .. } = self;
        index.insert_unique(slot.hash, slots.len(), |&at| slots.get(at).map_or(0, |slot| slot.hash));
        slots.push(slot);
    }

    /// Removes a slot and moves the last one to its index.
    fn remove(&mut self, at: usize) -> Option<Slot> {
        let hash = self.slots.get(at)?.hash;
        if let Ok(found) = self.index.find_entry(hash, |&other| other == at) {
            found.remove();
        }
        let slot = self.slots.swap_remove(at);
        self.used_bytes -= slot.cost();
        let moved_from = self.slots.len();
        if let Some(moved) = self.slots.get(at)
            && let Some(place) = self.index.find_mut(moved.hash, |&other| other == moved_from)
        {
            *place = at;
        }
        Some(slot)
    }

    /// Advances the hand by one; returns the slot there if it has expired. Every write thus examines one old
    /// entry, so that expired entries are removed from a store that never becomes full.
    fn find_expired(&mut self, now_ms: u64) -> Option<usize> {
        let at = self.step()?;
        self.slots.get(at).is_some_and(|slot| slot.ends_at_ms <= now_ms).then_some(at)
    }

    /// Advances the hand until it finds a slot to evict, at most once around; clears the read marks on its way.
    fn find_victim(&mut self) -> Option<usize> {
        for _ in 0..self.slots.len() {
            let at = self.step()?;
            let slot = self.slots.get_mut(at)?;
            if !slot.is_exempt && !std::mem::take(slot.was_read.get_mut()) {
                return Some(at);
            }
        }
        None
    }

    fn step(&mut self) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        self.hand = (self.hand + 1) % self.slots.len();
        Some(self.hand)
    }
}

impl Slot {
    fn cost(&self) -> usize {
        self.key.len() + self.bytes.len() + OVERHEAD_BYTES
    }
}

/// The stored form of an entry: its bytes, its end, and whether it is exempt from eviction.
fn weigh(entry: &Entry) -> (Bytes, u64, bool) {
    (entry.to_bytes(), entry.header.ends_at_ms, !entry.header.windows.is_empty())
}
