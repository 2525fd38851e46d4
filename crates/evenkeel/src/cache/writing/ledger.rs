//! What a process remembers of its invalidations: those of the last seconds, for a Redis that may have lost them, and those that
//! failed, until they are done.

use evenkeel_link::clock::Moment;
use evenkeel_protocol::cache::steps::{Generation, Invalidation, Mode};
use parking_lot::{Mutex, MutexGuard};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The invalidations of one cache, the latest of each key. An invalidation speaks for all earlier ones of its key: the writes
/// behind them were committed before it was sent.
#[derive(Debug)]
pub(crate) struct Ledger {
    state: Mutex<State>,
    /// Kept beside the state, so that a hit pays one load for the question that is nearly always answered with no.
    failed: AtomicUsize,
    remember: Duration,
    records_max: usize,
}

#[derive(Debug, Default)]
struct State {
    records: HashMap<Arc<[u8]>, Record>,
    /// The done ones, oldest first. A record whose serial differs has been replaced.
    done: VecDeque<(Moment, u64, Arc<[u8]>)>,
    next_serial: u64,
}

#[derive(Debug)]
struct Record {
    serial: u64,
    demand: Demand,
    progress: Progress,
    /// Where the spool has it, if it is there.
    spooled: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// Somebody is at it.
    Sent,
    Done,
    /// It may or may not have happened.
    Failed,
}

/// What an invalidation asks of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Demand {
    pub(crate) mode: Mode,
    /// No older version may be stored from now on.
    pub(crate) floor: Option<u64>,
    /// How far replicas may lag behind, 0 if loaders read the primary.
    pub(crate) lag_ms_max: u64,
}

impl Demand {
    /// The invalidation that the store gets, with a generation of its own.
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

/// One invalidation that must be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Duty {
    pub(crate) key: Arc<[u8]>,
    pub(crate) demand: Demand,
    serial: u64,
}

impl Ledger {
    pub(crate) fn new(remember: Duration, records_max: usize) -> Self {
        Self { state: Mutex::default(), failed: AtomicUsize::new(0), remember, records_max }
    }

    /// Writes down an invalidation before it is sent. One that failed before and was stricter makes this one as strict.
    ///
    /// The number is that of older records this one drove out, because there is no room: a loss of data would not be made
    /// good for those.
    pub(crate) fn open(&self, key: &[u8], demand: impl Into<Demand>, now: Moment) -> (Duty, u64) {
        let mut state = self.state();
        state.forget_done_before(now, self.remember);
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
        let driven_out = state.make_room(self.records_max);
        let spooled = state.records.get(&key).and_then(|record| record.spooled);
        let record = Record { serial, demand, progress: Progress::Sent, spooled };
        if state.records.insert(Arc::clone(&key), record).is_some_and(|old| old.progress == Progress::Failed) {
            self.failed.fetch_sub(1, Ordering::Relaxed);
        }
        (Duty { key, demand, serial }, driven_out)
    }

    /// It has happened. The answer is what is to be struck off the spool: the invalidation speaks for that one, too.
    pub(crate) fn done(&self, duty: &Duty, now: Moment) -> Option<u64> {
        let mut state = self.state();
        if !self.progress(&mut state, duty, Progress::Done) {
            return None;
        }
        state.done.push_back((now, duty.serial, Arc::clone(&duty.key)));
        state.records.get_mut(&duty.key).and_then(|record| record.spooled.take())
    }

    /// The spool has an invalidation of `key` that was not done. False if it is done by now, by whatever came after it: then it
    /// is to be struck off.
    pub(crate) fn spooled(&self, key: &[u8], sequence: u64) -> bool {
        match self.state().records.get_mut(key) {
            Some(record) if record.progress != Progress::Done => {
                record.spooled = record.spooled.max(Some(sequence));
                true
            }
            _ => false,
        }
    }

    /// It may not have happened: it stays until it has.
    pub(crate) fn failed(&self, duty: &Duty) {
        self.progress(&mut self.state(), duty, Progress::Failed);
    }

    /// Whether an invalidation of `key` is known to be owed, so that what the store has of it must not be believed.
    pub(crate) fn owes(&self, key: &[u8]) -> bool {
        self.owed() > 0 && self.state().records.get(key).is_some_and(|record| record.progress == Progress::Failed)
    }

    /// How many are owed.
    pub(crate) fn owed(&self) -> usize {
        self.failed.load(Ordering::Relaxed)
    }

    /// Those that failed.
    pub(crate) fn failures(&self) -> Vec<Duty> {
        self.duties(|progress| progress == Progress::Failed)
    }

    /// All that a Redis that lost its last seconds may not know: the recent, the failed, and those under way.
    pub(crate) fn everything(&self, now: Moment) -> Vec<Duty> {
        self.state().forget_done_before(now, self.remember);
        self.duties(|_| true)
    }

    fn duties(&self, wanted: impl Fn(Progress) -> bool) -> Vec<Duty> {
        let state = self.state();
        let wanted = state.records.iter().filter(|(_, record)| wanted(record.progress));
        wanted
            .map(|(key, record)| Duty { key: Arc::clone(key), demand: record.demand, serial: record.serial })
            .collect()
    }

    /// Whether `duty` is still the latest of its key.
    fn progress(&self, state: &mut State, duty: &Duty, progress: Progress) -> bool {
        let Some(record) = state.records.get_mut(&duty.key).filter(|record| record.serial == duty.serial) else {
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    fn forget_done_before(&mut self, now: Moment, remember: Duration) {
        while self.done.front().is_some_and(|(at, ..)| now.since(*at) >= remember) {
            self.forget_oldest_done();
        }
    }

    /// Done ones go, oldest first. Those that are owed stay however many they are: their callers know, and each is one key.
    fn make_room(&mut self, records_max: usize) -> u64 {
        let mut driven_out = 0;
        while self.records.len() >= records_max && !self.done.is_empty() {
            driven_out += u64::from(self.forget_oldest_done());
        }
        driven_out
    }

    fn forget_oldest_done(&mut self) -> bool {
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
        (Mode::Expire { keep_ms: one }, Mode::Expire { keep_ms: other }) => Mode::Expire { keep_ms: one.min(other) },
        _ => Mode::Purge,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_link::clock::Clock;

    const EXPIRE: Mode = Mode::Expire { keep_ms: 500 };

    fn keys(duties: &[Duty]) -> Vec<&[u8]> {
        let mut keys: Vec<&[u8]> = duties.iter().map(|duty| &*duty.key).collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn done_ones_are_remembered_for_a_while_and_failed_ones_until_done() {
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
        assert!(ledger.owes(b"failed") && !ledger.owes(b"sent"));
        ledger.done(&failed, later);
        assert!(!ledger.owes(b"failed"));
        assert_eq!(ledger.owed(), 0);
    }

    #[test]
    fn the_latest_invalidation_of_a_key_speaks_for_the_earlier_ones() {
        let now = Clock::system().now();
        let ledger = Ledger::new(Duration::from_secs(60), 10);
        let (earlier, _) = ledger.open(b"k", Mode::Purge, now);
        let (later, _) = ledger.open(b"k", EXPIRE, now);
        assert_eq!(later.demand.mode, Mode::Purge, "the purge is still owed");
        ledger.failed(&earlier);
        assert_eq!(ledger.owed(), 0, "the later one decides");
        ledger.failed(&later);
        assert_eq!(ledger.owed(), 1);
        let (retry, _) = ledger.open(b"k", EXPIRE, now);
        assert_eq!((retry.demand.mode, ledger.owed()), (Mode::Purge, 0));
        ledger.done(&retry, now);
        assert_eq!(ledger.open(b"k", EXPIRE, now).0.demand.mode, EXPIRE, "nothing is owed any more");
    }

    #[test]
    fn the_highest_version_heard_of_is_driven_again() {
        let now = Clock::system().now();
        let ledger = Ledger::new(Duration::from_secs(60), 10);
        let (newer, _) = ledger.open(b"k", Demand { floor: Some(8), ..EXPIRE.into() }, now);
        ledger.done(&newer, now);
        let (late, _) = ledger.open(b"k", Demand { floor: Some(7), ..EXPIRE.into() }, now);
        assert_eq!(late.demand.floor, Some(8));
        assert_eq!(ledger.open(b"k", EXPIRE, now).0.demand.floor, Some(8));
    }

    #[test]
    fn only_done_ones_make_room() {
        let now = Clock::system().now();
        let ledger = Ledger::new(Duration::from_secs(60), 2);
        let (first, _) = ledger.open(b"1", EXPIRE, now);
        ledger.failed(&first);
        let (second, _) = ledger.open(b"2", EXPIRE, now);
        ledger.done(&second, now);
        assert_eq!(ledger.open(b"3", EXPIRE, now).1, 1, "one was driven out");
        assert_eq!(keys(&ledger.everything(now)), [b"1", b"3"]);
        assert_eq!(ledger.open(b"4", EXPIRE, now).1, 0);
        assert_eq!(ledger.everything(now).len(), 3);
    }
}
