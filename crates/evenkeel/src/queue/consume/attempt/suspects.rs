//! The suspects that one consumer runs: how many it may run, and how its deliveries are reported meanwhile.
//!
//! A suspect is a job that may have killed its worker. A consumer runs a few suspects together with other jobs, which are shielded: if the
//! process dies, the crash is not counted for them.

use evenkeel_link::clock::{Clock, Moment};
use evenkeel_link::support::guard;
use evenkeel_protocol::queue::job::JobId;
use evenkeel_protocol::queue::steps::Receipt;
use evenkeel_protocol::queue::steps::{Report, Room};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The suspects of one consumer, on all of its shards.
pub(crate) struct Suspects {
    slots: u32,
    /// A suspect that has run for this time does not kill its process at once, so its place becomes free.
    visibility: Duration,
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: HashMap<Key, Suspect>,
    /// A shard worker is claiming suspects.
    is_claiming: bool,
    /// The number of suspects that were about to start so far.
    begun: u64,
}

type Key = (JobId, u64);

struct Suspect {
    level: u16,
    until: Moment,
}

/// The right to claim suspects, held by one shard worker at a time, so that two do not fill the same places.
pub(crate) struct Turn<'a> {
    suspects: &'a Suspects,
    pub(crate) room: Room,
}

/// A suspect's place among the concurrent suspects, until its attempt is dropped.
pub(crate) struct SuspectPermit {
    suspects: Arc<Suspects>,
    key: Key,
}

impl Suspects {
    pub(crate) fn new(slots: u32, visibility: Duration, clock: Clock) -> Arc<Self> {
        Arc::new(Self { slots, visibility, clock, state: Mutex::default() })
    }

    /// The number of suspects that may be claimed; `None` while another shard worker claims suspects.
    pub(crate) fn turn(&self) -> Option<Turn<'_>> {
        let now = self.clock.now();
        let mut state = self.state.lock();
        if std::mem::replace(&mut state.is_claiming, true) {
            return None;
        }
        let (mut level, mut running) = (0, 0);
        for suspect in state.placed(now).filter_map(|key| state.running.get(key)) {
            (level, running) = (suspect.level, running + 1);
        }
        Some(Turn { suspects: self, room: Room { slots: self.slots, level, running } })
    }

    /// Records a claimed suspect.
    pub(crate) fn place(self: &Arc<Self>, receipt: &Receipt, level: u16) -> SuspectPermit {
        let until = self.clock.now() + self.visibility;
        self.state.lock().running.insert(key(receipt), Suspect { level, until });
        SuspectPermit { suspects: Arc::clone(self), key: key(receipt) }
    }

    /// The number of suspects that were about to start so far. A report made after this call includes them.
    pub(crate) fn begun(&self) -> u64 {
        self.state.lock().begun
    }

    /// The reports of these deliveries, each with whether it has been started.
    pub(crate) fn report(&self, deliveries: impl Iterator<Item = (Receipt, bool)>) -> Vec<(Receipt, Report)> {
        let now = self.clock.now();
        let state = self.state.lock();
        let placed: Vec<&Key> = state.placed(now).collect();
        // A suspect that has lost its place by running for long is considered only if no suspect has a place.
        let prime = if placed.is_empty() { state.running.keys().collect() } else { placed.clone() };
        deliveries
            .map(|(receipt, is_started)| {
                let key = key(&receipt);
                let is_shielded = !placed.is_empty() && !placed.contains(&&key);
                let is_alone = self.slots == 1 || prime == [&key];
                (receipt, Report { is_started, is_shielded, is_alone })
            })
            .collect()
    }
}

impl State {
    /// The suspects that occupy a place.
    fn placed(&self, now: Moment) -> impl Iterator<Item = &Key> {
        let is_placed = move |suspect: &Suspect| suspect.until > now || !guard("queue_place_is_freed");
        self.running.iter().filter(move |(_, suspect)| is_placed(suspect)).map(|(key, _)| key)
    }
}

impl SuspectPermit {
    /// Records that the suspect is about to start, from which its place lasts. Returns the number of this start.
    pub(crate) fn begins(&self) -> u64 {
        let until = self.suspects.clock.now() + self.suspects.visibility;
        let mut state = self.suspects.state.lock();
        if let Some(suspect) = state.running.get_mut(&self.key) {
            suspect.until = until;
        }
        state.begun += 1;
        state.begun
    }
}

impl Drop for SuspectPermit {
    fn drop(&mut self) {
        self.suspects.state.lock().running.remove(&self.key);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.suspects.state.lock().is_claiming = false;
    }
}

fn key(receipt: &Receipt) -> Key {
    (receipt.id, receipt.fence)
}
