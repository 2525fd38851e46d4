//! The schedules: drawn once from a seed, and the same for every contestant.

use super::simulation::Load;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::time::Duration;

/// Processes that share the cache.
pub(super) const PROCESSES: usize = 4;

/// One operation of a process.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    /// Reads a row through the cache.
    Read {
        /// The behavior of the database if the row is loaded.
        load: Load,
    },
    /// Writes a row.
    Write {
        /// The time from the first statement to the commit.
        takes: Duration,
        /// Whether the transaction is rolled back at the end.
        rolled_back: bool,
        /// Whether the write's cache command is lost: Redis never receives it, and the writer receives no reply.
        redis_times_out: bool,
    },
}

/// An operation with its time, process and row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    /// The time since the start.
    pub(super) at: Duration,
    /// The process.
    pub(super) process: usize,
    /// The row.
    pub(super) key: u64,
    /// The operation.
    pub(super) act: Act,
}

/// The classic race of cache-aside at its worst: a reader reads the row and is paused for 1.5 s, meanwhile a writer commits and
/// invalidates, then the reader resumes and fills. Afterwards all processes read for a minute.
#[must_use]
pub(super) fn adversarial() -> Vec<Event> {
    let at = Duration::from_millis;
    let load = |takes| Act::Read { load: Load { takes, lag: Duration::ZERO } };
    let write = Act::Write { takes: at(5), rolled_back: false, redis_times_out: false };
    let mut events = vec![
        Event { at: at(100), process: 0, key: 1, act: load(at(1500)) },
        Event { at: at(200), process: 1, key: 1, act: write },
    ];
    events.extend((0_u64..600).map(|tick| Event {
        at: at(300 + tick * 100),
        process: usize::try_from(tick).unwrap_or_default() % PROCESSES,
        key: 1,
        act: load(at(5)),
    }));
    events
}

/// Two minutes of traffic: 200 reads and 8 writes a second over 24 rows, some popular. Of the loads 2 % are slow and 1 % take
/// up to 3 s; the replica is usually 100 ms behind and sometimes 2 s; 3 % of the writes roll back; 3 % of the cache commands
/// of writers are lost.
#[must_use]
pub(super) fn storm(seed: u64) -> Vec<Event> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut events = Vec::new();
    let mut at = Duration::ZERO;
    while at < Duration::from_secs(120) {
        at += Duration::from_micros(random.random_range(1_000..8_600));
        let process = random.random_range(0..PROCESSES);
        let key = random.random_range(0_u64..24).min(random.random_range(0..24));
        let act = if random.random_bool(0.04) {
            Act::Write {
                takes: Duration::from_millis(random.random_range(2..40)),
                rolled_back: random.random_bool(0.03),
                redis_times_out: random.random_bool(0.03),
            }
        } else {
            Act::Read { load: slow_or_not(&mut random) }
        };
        events.push(Event { at, process, key, act });
    }
    events
}

fn slow_or_not(random: &mut StdRng) -> Load {
    let takes = match random.random_range(0..100) {
        0 => random.random_range(300..3_000),
        1 | 2 => random.random_range(30..300),
        _ => random.random_range(1..10),
    };
    let lag = if random.random_bool(0.05) { 2_000 } else { 100 };
    Load { takes: Duration::from_millis(takes), lag: Duration::from_millis(lag) }
}
