//! Histories of processes with mixed settings on one cache: some read replicas, each with a lag of its own, some know versions, some retain
//! invalidated values. Rows are deleted and written again, entries are evicted, and a load takes as long as the history wants.
//!
//! A read that began after an acknowledged invalidation returns nothing older, unless it says so.

use crate::cache::histories::SEEDS;
use crate::cache::reads::rig::{Rig, Rows, in_time};
use evenkeel::cache::{CacheError, Found, Freshness, Source};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng};
use serde::Serialize;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

const KEYS: usize = 2;
const PROCESSES: usize = 4;
const STEPS: usize = 400;
const LAG_MS: u64 = 5_000;
/// What a failure shows of the past.
const HISTORY_MAX: usize = 40;

/// The counts of histories.
#[derive(Debug, Default, Serialize)]
struct Tally {
    /// The last of the seeds counted.
    mixed_seed: u64,
    mixed_histories: u64,
    reads: u64,
    failed_reads: u64,
    /// Loads that read a replica, and those of them that read an older row than the primary had.
    from_replicas: u64,
    behind: u64,
    absent: u64,
    marked_stale: u64,
    invalidations: u64,
    violations: u64,
}

impl Tally {
    fn add(&mut self, one: &Self) {
        self.mixed_seed = one.mixed_seed;
        self.mixed_histories += one.mixed_histories;
        self.reads += one.reads;
        self.failed_reads += one.failed_reads;
        self.from_replicas += one.from_replicas;
        self.behind += one.behind;
        self.absent += one.absent;
        self.marked_stale += one.marked_stale;
        self.invalidations += one.invalidations;
        self.violations += one.violations;
    }
}

// shows: hazard BC1
#[tokio::test]
async fn no_read_among_mixed_settings_is_older_than_an_invalidation() {
    let mut all = Tally::default();
    for seed in 1..=8 {
        all.add(&play(Rig::memory(), seed).await);
    }
    all.add(&play(Rig::redis().await, 1).await);
    assert_eq!(all.violations, 0, "{all:?}");
    let is_something = all.behind > 5 && all.absent > 20 && all.invalidations > 100 && all.failed_reads < all.reads / 4;
    assert!(is_something, "a check of nothing: {all:?}");
}

/// The long run of `cargo xtask sim cache`: one line a seed, and one with the sums.
#[tokio::test]
#[ignore = "the long run, for `cargo xtask sim cache`"]
async fn long_run() {
    let Ok(seeds) = std::env::var(SEEDS) else { return };
    let (first, last) = seeds.split_once("..").unwrap();
    let seeds: RangeInclusive<u64> = first.parse().unwrap()..=last.parse().unwrap();
    let mut all = Tally::default();
    for seed in seeds {
        for rig in [Rig::memory(), Rig::redis().await] {
            in_time(async { all.add(&play(rig, seed).await) }).await;
        }
        println!("{}", serde_json::to_string(&all).unwrap());
    }
    assert_eq!(all.violations, 0, "{all:?}");
}

/// A process, and which of the settings it has.
struct Process {
    rows: Rows,
    /// 0: it reads the primary.
    lag_ms: u64,
    knows_versions: bool,
    retains: bool,
}

impl Process {
    async fn start(rig: &Rig, random: &mut StdRng) -> Self {
        let lag_ms = [0, LAG_MS, 3 * LAG_MS][random.random_range(0..3)];
        let (knows_versions, retains): (bool, bool) = (random.random(), random.random());
        let rows = rig.rows_with(|builder| {
            let builder = builder.absent_ttl(Duration::from_secs(60));
            let builder = if lag_ms > 0 { builder.reads_replicas(Duration::from_millis(lag_ms)) } else { builder };
            let builder = if retains { builder.retain_stale(Duration::from_secs(30)) } else { builder };
            if knows_versions { builder.version(|row| row.parse().unwrap()) } else { builder }
        });
        Self { rows: rows.await, lag_ms, knows_versions, retains }
    }
}

/// A row: its versions, with the times of their commits. The first one is as old as the database.
#[derive(Default)]
struct Row {
    commits: Vec<(u64, u64)>,
    /// The newest version whose invalidation was acknowledged.
    known: u64,
}

impl Row {
    fn newest(&self) -> u64 {
        self.commits.last().map_or(1, |(_, version)| *version)
    }

    fn at(&self, ms: u64) -> u64 {
        self.commits.iter().rev().find(|(at_ms, _)| *at_ms <= ms).map_or(1, |(_, version)| *version)
    }

    /// Whether an absence may be found by a read that began when `known` was known.
    fn was_absent_since(&self, known: u64) -> bool {
        (known..=self.newest()).any(is_deletion)
    }
}

/// Whether a version is the absence of the row.
fn is_deletion(version: u64) -> bool {
    version > 0 && version.is_multiple_of(4)
}

/// A read on its way.
struct Read {
    task: JoinHandle<Result<Found<String>, CacheError>>,
    key: usize,
    process: usize,
    /// What was known when it began.
    known: u64,
    /// Lets its load return what it has read. A read that joined another's load, or found a value, has no use for it.
    gate: Option<oneshot::Sender<()>>,
}

struct History {
    rig: Rig,
    random: StdRng,
    processes: Vec<Process>,
    rows: Arc<Mutex<[Row; KEYS]>>,
    /// Commits that are not invalidated yet.
    committed: Vec<(usize, u64)>,
    reads: Vec<Read>,
    /// The loads of replicas, and those behind the primary.
    replicas: Arc<Mutex<(u64, u64)>>,
    tally: Tally,
    past: VecDeque<String>,
}

async fn play(rig: Rig, seed: u64) -> Tally {
    let mut random = StdRng::seed_from_u64(seed);
    let mut processes = Vec::new();
    for _ in 0..PROCESSES {
        processes.push(Process::start(&rig, &mut random).await);
    }
    let history = History {
        rig,
        random,
        processes,
        rows: Arc::default(),
        committed: Vec::new(),
        reads: Vec::new(),
        replicas: Arc::default(),
        tally: Tally { mixed_seed: seed, mixed_histories: 1, ..Tally::default() },
        past: VecDeque::new(),
    };
    history.play().await
}

impl History {
    async fn play(mut self) -> Tally {
        for _ in 0..STEPS {
            match self.random.random_range(0..100) {
                0..40 => self.read(),
                40..65 if !self.reads.is_empty() => {
                    let read = self.random.random_range(0..self.reads.len());
                    let _ = self.reads[read].gate.take().map(|gate| gate.send(()));
                }
                65..74 => self.commit(),
                74..85 => self.invalidate().await,
                85..97 => self.pass().await,
                97.. => {
                    let key = self.random.random_range(0..KEYS);
                    self.rig.evict(key as u64).await;
                    self.note(format!("{key} is evicted"));
                }
                _ => {}
            }
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            self.check(false).await;
        }
        self.reads.iter_mut().for_each(|read| read.gate = None);
        self.check(true).await;
        (self.tally.from_replicas, self.tally.behind) = *self.replicas.lock().unwrap();
        self.tally
    }

    fn read(&mut self) {
        let (process, key) = (self.random.random_range(0..PROCESSES), self.random.random_range(0..KEYS));
        let freshness = match self.random.random_range(0..5) {
            0 => Freshness::Fresh,
            1 => Freshness::Bounded(Duration::ZERO),
            _ => Freshness::Eventual,
        };
        let Process { rows: cache, lag_ms, .. } = &self.processes[process];
        let behind_ms = if self.random.random() { *lag_ms } else { self.random.random_range(0..=*lag_ms) };
        let (gate, opened) = oneshot::channel();
        let (cache, rows, replicas) = (cache.clone(), Arc::clone(&self.rows), Arc::clone(&self.replicas));
        let clock = self.rig.clock();
        let load = move |source| {
            let row = {
                let rows = rows.lock().unwrap();
                let newest = rows[key].newest();
                if source == Source::Replica {
                    let seen = rows[key].at(clock.unix_ms() - behind_ms);
                    let mut replicas = replicas.lock().unwrap();
                    *replicas = (replicas.0 + 1, replicas.1 + u64::from(seen < newest));
                    seen
                } else {
                    newest
                }
            };
            async move {
                // Opened or dropped: both mean that it returns.
                let _ = opened.await;
                Ok::<_, Infallible>((!is_deletion(row)).then(|| row.to_string()))
            }
        };
        let task = tokio::spawn(async move { cache.get_from(&(key as u64), freshness, load).await });
        let known = self.rows.lock().unwrap()[key].known;
        self.reads.push(Read { task, key, process, known, gate: Some(gate) });
        self.note(format!("process {process} reads {key}, {freshness:?}; {known} is known"));
    }

    fn commit(&mut self) {
        let key = self.random.random_range(0..KEYS);
        let version = {
            let mut rows = self.rows.lock().unwrap();
            let version = rows[key].newest() + 1;
            rows[key].commits.push((self.rig.now_ms(), version));
            version
        };
        self.committed.push((key, version));
        self.note(format!("{key} becomes {version}"));
    }

    async fn invalidate(&mut self) {
        if self.committed.is_empty() {
            return;
        }
        let place = self.random.random_range(0..self.committed.len());
        let (key, version) = self.committed.swap_remove(place);
        let from = self.random.random_range(0..PROCESSES);
        let Process { rows, knows_versions, .. } = &self.processes[from];
        // An absent row has no version.
        let with_version = *knows_versions && !is_deletion(version) && self.random.random();
        let key_of_row = key as u64;
        let invalidated = async {
            if with_version {
                rows.invalidate_at(&key_of_row, version).await
            } else {
                rows.invalidate(&key_of_row).await
            }
        };
        let invalidated = self.rig.while_time_passes(invalidated).await;
        if invalidated.is_ok() {
            self.tally.invalidations += 1;
            let mut rows = self.rows.lock().unwrap();
            rows[key].known = rows[key].known.max(version);
        }
        self.note(format!("process {from} invalidates {key} for {version}, with it: {with_version}"));
    }

    async fn pass(&mut self) {
        let spans = [1, 100, 1_000, LAG_MS, 3 * LAG_MS, 60_000];
        let span_ms = spans[self.random.random_range(0..spans.len())];
        // A load that lasts longer than its budget fails.
        if span_ms >= LAG_MS && self.random.random_bool(0.8) {
            self.reads.iter_mut().for_each(|read| read.gate = None);
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
        }
        self.rig.advance(Duration::from_millis(span_ms)).await;
        self.note(format!("{span_ms} ms pass"));
    }

    /// Looks at the reads that have ended; at the end of the history, at all.
    async fn check(&mut self, all: bool) {
        let (ended, left) =
            std::mem::take(&mut self.reads).into_iter().partition(|read| all || read.task.is_finished());
        self.reads = left;
        for Read { task, key, process, known, gate } in ended {
            drop(gate);
            let found = self.rig.while_time_passes(task).await.unwrap();
            self.tally.reads += 1;
            let Ok(found) = found else {
                self.tally.failed_reads += 1;
                continue;
            };
            let is_old = match &found.value {
                Some(version) => version.parse::<u64>().unwrap() < known,
                None => !self.rows.lock().unwrap()[key].was_absent_since(known),
            };
            self.tally.absent += u64::from(found.value.is_none());
            self.tally.marked_stale += u64::from(found.stale.is_some());
            let may_be_old = found.stale.is_some() && self.processes[process].retains;
            if (is_old || found.stale.is_some()) && !may_be_old {
                self.tally.violations += 1;
                let past = self.past.make_contiguous().join("\n");
                let seed = self.tally.mixed_seed;
                eprintln!(
                    "process {process} has read {found:?} of {key}, {known} was known; `cargo xtask sim cache {seed}` plays it again\n{past}"
                );
            }
        }
    }

    fn note(&mut self, what: String) {
        if self.past.len() == HISTORY_MAX {
            self.past.pop_front();
        }
        self.past.push_back(what);
    }
}
