//! The suspects that one consumer runs: how many it may, and how all of its deliveries are reported meanwhile.
//!
//! A suspect may be what killed its worker. A few of them run beside other jobs, which are shielded: should the process die, that is no
//! crash of theirs.

use evenkeel_link::clock::{Clock, Moment};
use evenkeel_link::support::guard;
use evenkeel_protocol::queue::job::JobId;
use evenkeel_protocol::queue::steps::Receipt;
use evenkeel_protocol::queue::steps::{Report, Room};
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The suspects of one consumer, on all of its shards.
pub(crate) struct Suspects {
    slots: u32,
    /// After this time a suspect that still runs is not what kills processes at once, and its place is free.
    visibility: Duration,
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: HashMap<Key, Suspect>,
    /// A lane is claiming suspects.
    is_claiming: bool,
    /// Rises whenever a suspect is about to begin.
    begun: u64,
}

type Key = (JobId, u64);

struct Suspect {
    level: u16,
    until: Moment,
}

/// The right to claim suspects: one lane's at a time, or two would fill the same places.
pub(crate) struct Turn<'a> {
    suspects: &'a Suspects,
    pub(crate) room: Room,
}

/// A suspect's place, for as long as its attempt lives.
pub(crate) struct Place {
    suspects: Arc<Suspects>,
    key: Key,
}

impl Suspects {
    pub(crate) fn new(slots: u32, visibility: Duration, clock: Clock) -> Arc<Self> {
        Arc::new(Self { slots, visibility, clock, state: Mutex::default() })
    }

    /// What may be claimed; nothing while another lane claims.
    pub(crate) fn turn(&self) -> Option<Turn<'_>> {
        let now = self.clock.now();
        let mut state = self.state();
        if std::mem::replace(&mut state.is_claiming, true) {
            return None;
        }
        let (mut level, mut running) = (0, 0);
        for suspect in state.placed(now).filter_map(|key| state.running.get(key)) {
            (level, running) = (suspect.level, running + 1);
        }
        Some(Turn { suspects: self, room: Room { slots: self.slots, level, running } })
    }

    /// A suspect was claimed.
    pub(crate) fn place(self: &Arc<Self>, receipt: &Receipt, level: u16) -> Place {
        let until = self.clock.now() + self.visibility;
        self.state().running.insert(key(receipt), Suspect { level, until });
        Place { suspects: Arc::clone(self), key: key(receipt) }
    }

    /// How many suspects were about to begin so far. A report that is made after this has them all.
    pub(crate) fn begun(&self) -> u64 {
        self.state().begun
    }

    /// How these deliveries, of which some have been started, are reported.
    pub(crate) fn report(&self, deliveries: impl Iterator<Item = (Receipt, bool)>) -> Vec<(Receipt, Report)> {
        let now = self.clock.now();
        let state = self.state();
        let placed: Vec<&Key> = state.placed(now).collect();
        // Of those that have survived for long none is suspected more than the others.
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    /// The suspects that have a place.
    fn placed(&self, now: Moment) -> impl Iterator<Item = &Key> {
        let is_placed = move |suspect: &Suspect| suspect.until > now || !guard("queue_place_is_freed");
        self.running.iter().filter(move |(_, suspect)| is_placed(suspect)).map(|(key, _)| key)
    }
}

impl Place {
    /// The suspect is about to begin: its place lasts from now. Answers the number of its beginning.
    pub(crate) fn begins(&self) -> u64 {
        let until = self.suspects.clock.now() + self.suspects.visibility;
        let mut state = self.suspects.state();
        if let Some(suspect) = state.running.get_mut(&self.key) {
            suspect.until = until;
        }
        state.begun += 1;
        state.begun
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.suspects.state().running.remove(&self.key);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.suspects.state().is_claiming = false;
    }
}

fn key(receipt: &Receipt) -> Key {
    (receipt.id, receipt.fence)
}
