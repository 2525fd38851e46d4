//! The soak: ids by the hundred million, of processes that end and start while the clock of their store is set. Ids that follow each other are
//! one range, so every id is compared with all others, not a sample of them.

use super::{AHEAD, LEASE, MARGIN, MS, builder, wide};
use crate::rig::Fleet;
use evenkeel::Keel;
use evenkeel::id::{Id, Snowflake};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde::Serialize;
use std::time::Duration;

/// Says what the long run issues: the seed and the number of ids.
const PLAN: &str = "EVENKEEL_SIM_IDS";
const PROCESSES: usize = 4;
/// Of the default layout.
const SEQUENCE_BITS: u32 = 12;
const WORKER_BITS: u32 = 10;

#[derive(Debug, Default, Serialize)]
struct Tally {
    ids_seed: u64,
    ids: u64,
    ranges: u64,
    /// Generators that were built.
    generators: u64,
    /// Those that ended, with and without a release.
    ended: u64,
    clock_steps: u64,
    /// How often all leases ended unnoticed.
    lapses: u64,
    doubled: u64,
}

/// Words of one worker id, from one to before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Range {
    worker: u64,
    from: u64,
    until: u64,
}

/// A process, its generator, and what it has issued.
struct Process {
    keel: Keel,
    generator: Option<Snowflake>,
    ranges: Vec<Range>,
    last: Option<Id>,
}

// shows: I1
#[tokio::test]
async fn soak_of_ids_repeats_none() {
    let tally = soak(1, 2_000_000).await;
    assert_eq!(tally.doubled, 0, "{tally:?}");
    assert!(tally.clock_steps > 3 && tally.ended > 3 && tally.lapses > 1, "a check of nothing: {tally:?}");
}

/// The long run of `cargo xtask sim ids`.
#[tokio::test]
#[ignore = "the long run, for `cargo xtask sim ids`"]
async fn long_run() {
    let Ok(plan) = std::env::var(PLAN) else { return };
    let (seed, ids) = plan.split_once(' ').unwrap();
    let tally = soak(seed.parse().unwrap(), ids.parse().unwrap()).await;
    println!("{}", serde_json::to_string(&tally).unwrap());
    assert_eq!(tally.doubled, 0, "{tally:?}");
}

#[test]
fn ranges_that_meet_are_counted() {
    let range = |worker, from, until| Range { worker, from, until };
    assert_eq!(doubled(vec![range(1, 0, 10), range(1, 10, 20), range(2, 5, 15)]), 0);
    assert_eq!(doubled(vec![range(1, 0, 10), range(1, 9, 20), range(1, 2, 4)]), 3);
}

async fn soak(seed: u64, ids: u64) -> Tally {
    println!("to replay: seed {seed}");
    let fleet = Fleet::memory();
    let mut random = StdRng::seed_from_u64(seed);
    let mut tally = Tally { ids_seed: seed, ..Tally::default() };
    let mut processes = Vec::new();
    for _ in 0..PROCESSES {
        let keel = fleet.process().await;
        processes.push(Process { keel, generator: None, ranges: Vec::new(), last: None });
    }
    while tally.ids < ids {
        disturb(&fleet, &mut random, &mut processes, &mut tally).await;
        for process in &mut processes {
            match &process.generator {
                // A lost lease, or a store whose clock was set: the next round tries again.
                Some(generator) => drop(generator.extend_once().await),
                None => {
                    process.generator = builder(&process.keel, wide()).build().await.ok();
                    tally.generators += u64::from(process.generator.is_some());
                }
            }
        }
        let most = [1, 4_096, ids / 200][random.random_range(0..3)];
        tally.ids += issue(&mut processes, most);
    }
    let ranges: Vec<Range> = processes.into_iter().flat_map(|process| process.ranges).collect();
    tally.ranges = ranges.len() as u64;
    tally.doubled = doubled(ranges);
    tally
}

/// Lets time pass, sets the clock of the store, or ends a process.
async fn disturb(fleet: &Fleet, random: &mut StdRng, processes: &mut [Process], tally: &mut Tally) {
    let some = Duration::from_millis(random.random_range(1..6_000));
    match random.random_range(0..16) {
        0 => {
            tally.lapses += 1;
            fleet.advance(LEASE).await;
        }
        1 | 2 => {
            tally.clock_steps += 1;
            fleet.set_back(some * 10).await;
        }
        3 => {
            tally.clock_steps += 1;
            fleet.advance_store(some / 10).await;
        }
        4 | 5 => {
            let process = &mut processes[random.random_range(0..PROCESSES)];
            let Some(generator) = process.generator.take() else { return };
            tally.ended += 1;
            process.last = None;
            if random.random_bool(0.5) {
                generator.release().await.unwrap();
            }
        }
        6 => fleet.advance(MARGIN + MS).await,
        7 => fleet.advance(AHEAD + MARGIN).await,
        _ => fleet.advance(some).await,
    }
}

/// Lets all processes issue at once, each at most so many; returns how many they have issued.
fn issue(processes: &mut [Process], most: u64) -> u64 {
    std::thread::scope(|scope| {
        let issuing: Vec<_> = processes.iter_mut().map(|process| scope.spawn(move || process.issue(most))).collect();
        issuing.into_iter().map(|issued| issued.join().unwrap()).sum()
    })
}

impl Process {
    fn issue(&mut self, most: u64) -> u64 {
        let Some(generator) = &self.generator else { return 0 };
        let mut count = 0;
        while count < most
            && let Some(id) = generator.try_next()
        {
            count += 1;
            assert!(self.last.is_none_or(|last| last < id), "the ids of a generator rise");
            self.last = Some(id);
            let (time, worker) = (id.get() >> (WORKER_BITS + SEQUENCE_BITS), id.get() >> SEQUENCE_BITS);
            let worker = worker & ((1 << WORKER_BITS) - 1);
            let word = (time << SEQUENCE_BITS) | (id.get() & ((1 << SEQUENCE_BITS) - 1));
            match self.ranges.last_mut() {
                Some(last) if last.worker == worker && last.until == word => last.until += 1,
                _ => self.ranges.push(Range { worker, from: word, until: word + 1 }),
            }
        }
        count
    }
}

/// How many words are in more than one range.
fn doubled(mut ranges: Vec<Range>) -> u64 {
    ranges.sort_unstable();
    let (mut doubled, mut highest) = (0, (0, 0));
    for Range { worker, from, until } in ranges {
        if highest.0 == worker {
            doubled += until.min(highest.1).saturating_sub(from);
            highest.1 = highest.1.max(until);
        } else {
            highest = (worker, until);
        }
    }
    doubled
}
