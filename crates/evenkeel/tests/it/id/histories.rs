//! Random histories of many processes with random settings: time passes for all or for some, clocks are set back, the store forgets, processes
//! end and start. No id is issued twice, and the ids of each generator rise.

use super::{EPOCH_MS, assert_distinct, take};
use crate::rig::{Fleet, Store};
use evenkeel::Keel;
use evenkeel::id::{Id, Layout, Snowflake, SnowflakeBuilder};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::time::Duration;
use testkit::conformance::differential::seeds;

on_both_with! {crate::rig::Fleet:
    no_history_with_clock_steps_repeats_an_id
    no_history_of_a_store_that_forgets_repeats_an_id
}

const STEPS: usize = 1_000;
const PROCESSES: usize = 4;

/// What a history may have: a store that forgets its clock steps is excluded by the promise.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    ClockSteps,
    Forgets,
}

struct History {
    fleet: Fleet,
    kind: Kind,
    random: StdRng,
    settings: Settings,
    processes: Vec<(Keel, Option<Snowflake>, Vec<Id>)>,
    ended: Vec<Id>,
    copies: Option<Vec<::redis::Value>>,
}

#[derive(Clone, Copy, Debug)]
struct Settings {
    layout: Layout,
    ahead: Duration,
    margin: Duration,
    lease: Duration,
}

impl Settings {
    fn draw(random: &mut StdRng) -> Self {
        let ms = Duration::from_millis;
        let tick = [1, 2, 10, 25][random.random_range(0..4)];
        let layout =
            Layout::new(41, random.random_range(0..3), random.random_range(1..5)).epoch_ms(EPOCH_MS).tick(ms(tick));
        let ahead = ms([100, 250, 1_000, 3_000][random.random_range(0..4)]);
        let margin = ms([0, 7, 1_000][random.random_range(0..3)]);
        let lease = ahead + margin + ms([1_000, 5_000, 30_000][random.random_range(0..3)]);
        Self { layout, ahead, margin, lease }
    }

    /// Below a lease each, so that in most histories an owner keeps its worker id from the acquisition to the end of the margin, and issues.
    fn spans(self) -> [Duration; 6] {
        let ahead_ms = u64::try_from(self.ahead.as_millis()).unwrap();
        let parts = [1, 10, ahead_ms / 4, ahead_ms / 2].map(Duration::from_millis);
        [parts[0], parts[1], parts[2], parts[3], self.ahead, self.ahead + self.margin]
    }

    fn builder(self, keel: &Keel) -> SnowflakeBuilder {
        let builder = keel.snowflake("orders").layout(self.layout).wait(Duration::ZERO);
        builder.ahead(self.ahead).margin(self.margin).lease(self.lease)
    }
}

impl History {
    async fn step(&mut self) {
        let at = self.random.random_range(0..PROCESSES);
        let some = self.settings.spans()[self.random.random_range(0..6)];
        match self.random.random_range(0..24) {
            0..=4 => self.fleet.advance(some).await,
            5 => self.fleet.advance(self.settings.lease).await,
            6 => self.fleet.advance_store(some.min(Duration::from_secs(1))).await,
            7 if self.random.random_bool(0.1) => self.fleet.advance_store(self.settings.lease).await,
            8 => self.fleet.advance_processes(some),
            9 if self.kind == Kind::ClockSteps => self.fleet.set_back(some).await,
            10 if self.kind == Kind::Forgets => self.forget().await,
            11 => self.end(at, true).await,
            12 => self.end(at, false).await,
            13..=18 => self.extend(at).await,
            _ => self.issue(at),
        }
    }

    fn issue(&mut self, at: usize) {
        let most = [1, 7, 400][self.random.random_range(0..3)];
        let (_, Some(ids), issued) = &mut self.processes[at] else { return };
        issued.extend(take(ids, most));
    }

    async fn extend(&mut self, at: usize) {
        let (keel, generator, _) = &mut self.processes[at];
        match generator {
            Some(ids) => drop(ids.extend_once().await),
            None => *generator = self.settings.builder(keel).build().await.ok(),
        }
    }

    async fn end(&mut self, at: usize, releases: bool) {
        let (_, generator, issued) = &mut self.processes[at];
        let Some(ids) = generator.take() else { return };
        if releases {
            ids.release().await.unwrap();
        }
        assert!(issued.windows(2).all(|pair| pair[0] < pair[1]), "the ids of a generator rise");
        self.ended.append(issued);
    }

    /// The store goes back to a copy, or forgets all.
    async fn forget(&mut self) {
        let Store::Redis { .. } = &self.fleet.store else { return };
        let keys = ["workers", "workers:leases"].map(|ending| format!("{{{}:i:orders}}:{ending}", self.fleet.prefix()));
        match (self.random.random_range(0..4), self.copies.take()) {
            (0, _) => {
                for key in &keys {
                    self.fleet.command(key.as_bytes(), ::redis::cmd("DEL").arg(key)).await;
                }
            }
            (1, Some(copies)) => {
                for (key, copy) in keys.iter().zip(copies) {
                    let ::redis::Value::BulkString(copy) = copy else { continue };
                    let mut restore = ::redis::cmd("RESTORE");
                    restore.arg(key).arg(0).arg(copy).arg("REPLACE");
                    self.fleet.command(key.as_bytes(), &restore).await;
                }
            }
            _ => {
                let mut copies = Vec::new();
                for key in &keys {
                    copies.push(self.fleet.command(key.as_bytes(), ::redis::cmd("DUMP").arg(key)).await);
                }
                self.copies = Some(copies);
            }
        }
    }
}

/// The number of ids that were issued. A single history may issue none.
async fn run(fleet: Fleet, kind: Kind, seed: u64) -> usize {
    let mut random = StdRng::seed_from_u64(seed);
    let settings = Settings::draw(&mut random);
    println!("to replay: EVENKEEL_SEED={seed}; {settings:?}");
    let mut processes = Vec::new();
    for _ in 0..PROCESSES {
        processes.push((fleet.process().await, None, Vec::new()));
    }
    let mut history = History { fleet, kind, random, settings, processes, ended: Vec::new(), copies: None };
    for _ in 0..STEPS {
        history.step().await;
    }
    for at in 0..PROCESSES {
        history.end(at, false).await;
    }
    let count = history.ended.len();
    println!("{count} ids");
    assert_distinct(history.ended);
    count
}

// shows: I1, I2, hazard GI1, id::Snowflake
async fn no_history_with_clock_steps_repeats_an_id(fleet: Fleet) {
    let mut next = Some(fleet);
    let mut issued = 0;
    for seed in seeds(&[1, 2, 3, 4, 5]) {
        let fleet = match next.take() {
            Some(fleet) => fleet,
            None => Fleet::memory(),
        };
        issued += run(fleet, Kind::ClockSteps, seed).await;
    }
    assert!(issued > 0, "no id was issued");
}

// shows: I1, id::Snowflake
async fn no_history_of_a_store_that_forgets_repeats_an_id(fleet: Fleet) {
    let is_redis = matches!(fleet.store, Store::Redis { .. });
    let mut next = Some(fleet);
    let mut issued = 0;
    for seed in seeds(&[1, 2, 3]) {
        let fleet = match next.take() {
            Some(fleet) => fleet,
            None if is_redis => Fleet::redis().await,
            None => break,
        };
        issued += run(fleet, Kind::Forgets, seed).await;
    }
    assert!(issued > 0, "no id was issued");
}
