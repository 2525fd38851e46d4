//! The invalidations that a process retains: those of the replay window, which a Redis that lost data may be missing, and
//! failed ones until they succeed.

use evenkeel_link::clock::Moment;
use evenkeel_protocol::cache::steps::{Generation, Invalidation, Mode};
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The invalidations of one cache, the latest of each key. An invalidation replaces all earlier ones of its key: the writes
/// behind them were committed before it was sent.
#[derive(Debug)]
pub(crate) struct Ledger {
    state: Mutex<State>,
    /// Stored outside the mutex, so that a hit pays one atomic load for a check that is almost always negative.
    failed: AtomicUsize,
    replay_window: Duration,
    records_max: usize,
}

#[derive(Debug, Default)]
struct State {
    records: HashMap<Arc<[u8]>, Record>,
    /// Completed invalidations, oldest first. If a record has another serial, it has been replaced.
    done: VecDeque<(Moment, u64, Arc<[u8]>)>,
    next_serial: u64,
}

#[derive(Debug)]
struct Record {
    serial: u64,
    demand: Demand,
    progress: Progress,
    /// Its sequence in the spool, if it is there.
    spooled: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// It has been sent, and its reply is pending.
    Sent,
    Done,
    /// It may or may not have been applied.
    Failed,
}

/// The parameters of an invalidation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Demand {
    pub(crate) mode: Mode,
    /// The minimum version that may be stored from now on.
    pub(crate) floor: Option<u64>,
    /// The maximum replica lag, 0 if loaders read the primary.
    pub(crate) lag_ms_max: u64,
}

impl Demand {
    /// The invalidation to send, with a new generation.
    pub(crate) fn invalidation(self) -> Invalidation {
        let Self { mode, floor, lag_ms_max } = self;
        Invalidation { generation: Generation::random(), floor, mode, lag_ms_max }
    }
}

impl From<Mode> for Demand {
    fn from(mode: Mode) -> Self {
        Self { mode, floor: None, lag_ms_max: 0 }
    }
}

/// An invalidation that must be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pending {
    pub(crate) key: Arc<[u8]>,
    pub(crate) demand: Demand,
    serial: u64,
}

impl Ledger {
    pub(crate) fn new(replay_window: Duration, records_max: usize) -> Self {
        Self { state: Mutex::default(), failed: AtomicUsize::new(0), replay_window, records_max }
    }

    /// Records an invalidation before it is sent. If an earlier one of the key is still pending, this one becomes at least as
    /// strict.
    ///
    /// Also returns how many completed records were removed for lack of space: those will not be replayed after a loss of data.
    pub(crate) fn open(&self, key: &[u8], demand: impl Into<Demand>, now: Moment) -> (Pending, u64) {
        let mut state = self.state.lock();
        state.remove_done_before(now, self.replay_window);
        let serial = state.next_serial;
        state.next_serial += 1;
        let mut demand = demand.into();
        let key: Arc<[u8]> = match state.records.get_key_value(key) {
            Some((key, record)) => {
                demand.floor = demand.floor.max(record.demand.floor);
                if record.progress != Progress::Done {
                    demand.mode = stricter(demand.mode, record.demand.mode);
                }
                Arc::clone(key)
            }
            None => key.into(),
        };
        let removed = state.make_room(self.records_max);
        let spooled = state.records.get(&key).and_then(|record| record.spooled);
        let record = Record { serial, demand, progress: Progress::Sent, spooled };
        if state.records.insert(Arc::clone(&key), record).is_some_and(|old| old.progress == Progress::Failed) {
            self.failed.fetch_sub(1, Ordering::Relaxed);
        }
        (Pending { key, demand, serial }, removed)
    }

    /// Records that it was applied. Returns the spool sequence to remove: this invalidation replaces the spooled one.
    pub(crate) fn done(&self, pending: &Pending, now: Moment) -> Option<u64> {
        let mut state = self.state.lock();
        if !self.progress(&mut state, pending, Progress::Done) {
            return None;
        }
        state.done.push_back((now, pending.serial, Arc::clone(&pending.key)));
        state.records.get_mut(&pending.key).and_then(|record| record.spooled.take())
    }

    /// Records that the spool stores an invalidation of `key`. False if it has been applied meanwhile, by itself or by a later
    /// one; the caller then removes it from the spool.
    pub(crate) fn spooled(&self, key: &[u8], sequence: u64) -> bool {
        match self.state.lock().records.get_mut(key) {
            Some(record) if record.progress != Progress::Done => {
                record.spooled = record.spooled.max(Some(sequence));
                true
            }
            _ => false,
        }
    }

    /// Records that the invalidation may not have been applied; it stays pending until it has been.
    pub(crate) fn failed(&self, pending: &Pending) {
        self.progress(&mut self.state.lock(), pending, Progress::Failed);
    }

    /// Whether a failed invalidation of `key` is pending, so that the stored value may be outdated.
    pub(crate) fn is_pending(&self, key: &[u8]) -> bool {
        self.pending_count() > 0
            && self.state.lock().records.get(key).is_some_and(|record| record.progress == Progress::Failed)
    }

    /// Whether no invalidation of `key` is in flight or failed.
    #[cfg(feature = "cdc")]
    pub(crate) fn is_applied(&self, key: &[u8]) -> bool {
        self.state.lock().records.get(key).is_none_or(|record| record.progress == Progress::Done)
    }

    /// The number of failed invalidations that are pending.
    pub(crate) fn pending_count(&self) -> usize {
        self.failed.load(Ordering::Relaxed)
    }

    /// The failed invalidations.
    pub(crate) fn failures(&self) -> Vec<Pending> {
        self.select(|progress| progress == Progress::Failed)
    }

    /// All invalidations that a Redis which lost recent data may be missing: the recent, the failed, and those in flight.
    pub(crate) fn everything(&self, now: Moment) -> Vec<Pending> {
        self.state.lock().remove_done_before(now, self.replay_window);
        self.select(|_| true)
    }

    fn select(&self, requested: impl Fn(Progress) -> bool) -> Vec<Pending> {
        let state = self.state.lock();
        let requested = state.records.iter().filter(|(_, record)| requested(record.progress));
        requested
            .map(|(key, record)| Pending { key: Arc::clone(key), demand: record.demand, serial: record.serial })
            .collect()
    }

    /// Updates the record. False if `pending` is no longer the latest invalidation of its key.
    fn progress(&self, state: &mut State, pending: &Pending, progress: Progress) -> bool {
        let Some(record) = state.records.get_mut(&pending.key).filter(|record| record.serial == pending.serial) else {
            return false;
        };
        match (record.progress == Progress::Failed, progress == Progress::Failed) {
            (true, false) => _ = self.failed.fetch_sub(1, Ordering::Relaxed),
            (false, true) => _ = self.failed.fetch_add(1, Ordering::Relaxed),
            _ => {}
        }
        record.progress = progress;
        true
    }
}

impl State {
    fn remove_done_before(&mut self, now: Moment, replay_window: Duration) {
        while self.done.front().is_some_and(|(at, ..)| now.since(*at) >= replay_window) {
            self.remove_oldest_done();
        }
    }

    /// Removes completed records, oldest first. Pending ones are kept, whatever their number: their callers know of them, and
    /// each is one key.
    fn make_room(&mut self, records_max: usize) -> u64 {
        let mut removed = 0;
        while self.records.len() >= records_max && !self.done.is_empty() {
            removed += u64::from(self.remove_oldest_done());
        }
        removed
    }

    fn remove_oldest_done(&mut self) -> bool {
        let Some((_, serial, key)) = self.done.pop_front() else { return false };
        let is_it = |record: &Record| record.serial == serial && record.progress == Progress::Done;
        if !self.records.get(&key).is_some_and(is_it) {
            return false;
        }
        self.records.remove(&key);
        true
    }
}

fn stricter(one: Mode, other: Mode) -> Mode {
    match (one, other) {
        (Mode::Expire { retain_ms: one }, Mode::Expire { retain_ms: other }) => {
            Mode::Expire { retain_ms: one.min(other) }
        }
        _ => Mode::Purge,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_link::clock::Clock;

    const EXPIRE: Mode = Mode::Expire { retain_ms: 500 };

    fn keys(select: &[Pending]) -> Vec<&[u8]> {
        let mut keys: Vec<&[u8]> = select.iter().map(|pending| &*pending.key).collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn ledger_keeps_done_invalidations_for_a_while() {
        let now = Clock::system().now();
        let ledger = Ledger::new(Duration::from_secs(60), 10);
        let (done, _) = ledger.open(b"done", EXPIRE, now);
        let (failed, _) = ledger.open(b"failed", EXPIRE, now);
        let (_under_way, _) = ledger.open(b"sent", EXPIRE, now);
        ledger.done(&done, now);
        ledger.failed(&failed);
        assert_eq!(keys(&ledger.everything(now)), [&b"done"[..], b"failed", b"sent"]);
        let later = now + Duration::from_secs(60);
        assert_eq!(keys(&ledger.everything(later)), [&b"failed"[..], b"sent"]);
        assert_eq!(keys(&ledger.failures()), [b"failed"]);
        assert!(ledger.is_pending(b"failed") && !ledger.is_pending(b"sent"));
        ledger.done(&failed, later);
        assert!(!ledger.is_pending(b"failed"));
        assert_eq!(ledger.pending_count(), 0);
    }

    #[test]
    fn latest_invalidation_of_a_key_replaces_earlier_ones() {
        let now = Clock::system().now();
        let ledger = Ledger::new(Duration::from_secs(60), 10);
        let (earlier, _) = ledger.open(b"k", Mode::Purge, now);
        let (later, _) = ledger.open(b"k", EXPIRE, now);
        assert_eq!(later.demand.mode, Mode::Purge, "the purge is still pending");
        ledger.failed(&earlier);
        assert_eq!(ledger.pending_count(), 0, "the later one decides");
        ledger.failed(&later);
        assert_eq!(ledger.pending_count(), 1);
        let (retry, _) = ledger.open(b"k", EXPIRE, now);
        assert_eq!((retry.demand.mode, ledger.pending_count()), (Mode::Purge, 0));
        ledger.done(&retry, now);
        assert_eq!(ledger.open(b"k", EXPIRE, now).0.demand.mode, EXPIRE, "nothing is pending any more");
    }

    #[test]
    fn highest_known_version_is_replayed() {
        let now = Clock::system().now();
        let ledger = Ledger::new(Duration::from_secs(60), 10);
        let (newer, _) = ledger.open(b"k", Demand { floor: Some(8), ..EXPIRE.into() }, now);
        ledger.done(&newer, now);
        let (late, _) = ledger.open(b"k", Demand { floor: Some(7), ..EXPIRE.into() }, now);
        assert_eq!(late.demand.floor, Some(8));
        assert_eq!(ledger.open(b"k", EXPIRE, now).0.demand.floor, Some(8));
    }

    #[test]
    fn only_done_invalidations_are_removed_for_room() {
        let now = Clock::system().now();
        let ledger = Ledger::new(Duration::from_secs(60), 2);
        let (first, _) = ledger.open(b"1", EXPIRE, now);
        ledger.failed(&first);
        let (second, _) = ledger.open(b"2", EXPIRE, now);
        ledger.done(&second, now);
        assert_eq!(ledger.open(b"3", EXPIRE, now).1, 1, "one was removed");
        assert_eq!(keys(&ledger.everything(now)), [b"1", b"3"]);
        assert_eq!(ledger.open(b"4", EXPIRE, now).1, 0);
        assert_eq!(ledger.everything(now).len(), 3);
    }
}
