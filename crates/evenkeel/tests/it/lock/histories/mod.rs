//! K1 to K10 over random histories: exclusive locks, read/write locks and a semaphore, used by the tasks of three processes while
//! connections fail, processes die, operators break locks, and acquisitions are dropped in the middle.
//!
//! A hold counts from the return of its acquisition to the beginning of the last look at which its guard was not lost. At no moment
//! may more holds of a name overlap than the lock allows, fences of a name rise, and after the faults every name can be acquired.

mod checker;
mod faults;
mod process;
mod tally;

use checker::{Hold, violations};
use faults::Faults;
use process::Process;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tally::Tally;
use testkit::park::{SharedRedis, redis};
use testkit::proxy::Proxy;

/// Says which seeds the long run tries: `A..B`, both included.
const SEEDS: &str = "EVENKEEL_SIM_SEEDS";
const PROCESSES: usize = 3;

// shows: K2, K3, K5, K7, lock::ExclusiveLocks
#[tokio::test]
async fn redis_locks_stay_exclusive_under_faults() {
    let tally = run(1..=2, true).await;
    assert_eq!(tally.violations, 0, "{tally:?}");
    assert!(tally.holds > 60 && tally.dropped_acquires > 5 && tally.fences > 30, "a check of nothing: {tally:?}");
}

// shows: lock::ExclusiveLocks
#[tokio::test]
async fn embedded_locks_stay_exclusive_while_processes_end() {
    let tally = run(1..=2, false).await;
    assert_eq!(tally.violations, 0, "{tally:?}");
    assert!(tally.holds > 60 && tally.dropped_acquires > 5 && tally.fences > 30, "a check of nothing: {tally:?}");
}

/// The long run of `cargo xtask sim lock`: one line a seed, and one with the sums.
#[tokio::test]
#[ignore = "the long run, for `cargo xtask sim lock`"]
async fn long_run() {
    let Ok(seeds) = std::env::var(SEEDS) else { return };
    let (first, last) = seeds.split_once("..").unwrap();
    let tally = run(first.parse().unwrap()..=last.parse().unwrap(), true).await;
    println!("{}", serde_json::to_string(&tally).unwrap());
    assert_eq!(tally.violations, 0, "{tally:?}");
}

async fn run(seeds: std::ops::RangeInclusive<u64>, on_redis: bool) -> Tally {
    let server = redis().await.unwrap();
    let mut all = Tally::default();
    for seed in seeds {
        let one = play(on_redis.then_some(&server), seed).await;
        println!("{}", serde_json::to_string(&one).unwrap());
        all.add(&one);
    }
    all
}

/// The records of all processes of a history.
#[derive(Default)]
struct Notes {
    holds: Mutex<Vec<Hold>>,
    /// The locks that operators broke, and when.
    broken: Mutex<HashMap<(&'static str, u64), Instant>>,
    tally: Mutex<Tally>,
}

impl Notes {
    /// Records a hold that begins now; the result identifies it for [`look`](Self::look).
    fn begins(&self, hold: Hold) -> usize {
        let mut holds = self.holds.lock().unwrap();
        holds.push(hold);
        holds.len() - 1
    }

    /// Records that the guard was not lost at this moment.
    fn look(&self, hold: usize, at: Instant) {
        self.holds.lock().unwrap()[hold].until = at;
    }

    /// An operator is about to break the lock of the holder with this fence: from here on nothing is promised to that
    /// holder. Its acquisition may not have returned yet.
    fn breaks(&self, name: &'static str, fence: u64) {
        self.broken.lock().unwrap().entry((name, fence)).or_insert_with(Instant::now);
    }

    /// All holds, each with the moment at which it was broken.
    fn holds(&self) -> Vec<Hold> {
        let broken = self.broken.lock().unwrap();
        let at = |hold: &Hold| broken.get(&(hold.name, hold.fence?)).copied();
        let holds = self.holds.lock().unwrap();
        holds.iter().map(|hold| Hold { broken_at: at(hold), ..hold.clone() }).collect()
    }

    fn count(&self, add: impl FnOnce(&mut Tally)) {
        add(&mut self.tally.lock().unwrap());
    }
}

async fn play(server: Option<&SharedRedis>, seed: u64) -> Tally {
    let faults = Faults::draw(seed);
    let notes = Arc::new(Notes::default());
    let mut proxies = Vec::new();
    if let Some(server) = server {
        let port = server.url.rsplit(':').next().and_then(|tail| tail.split(['/', '?']).next()?.parse().ok()).unwrap();
        for number in 0..PROCESSES {
            proxies.push(Proxy::start(port, seed + number as u64).await.unwrap());
        }
    }
    let embedded = evenkeel::Keel::memory();
    let processes: Vec<Process> = (0..PROCESSES)
        .map(|number| {
            let url = server.map(|server| (proxies[number].url(&server.url), format!("{}h{seed}", server.prefix)));
            Process::start(number, seed, url, embedded.another_process(), &notes, faults.dies[number])
        })
        .collect();
    for (proxy, schedule) in proxies.iter().zip(&faults.connections) {
        proxy.play(schedule).await.unwrap();
    }
    for process in processes {
        process.ended().await;
    }
    let stuck = still_held(server, seed, &embedded).await;
    let found = violations(&notes.holds());
    for violation in found.iter().chain(&stuck) {
        eprintln!("seed {seed}: {violation}; `cargo xtask sim lock {seed}` plays it again\n{faults:?}");
    }
    let mut tally = std::mem::take(&mut *notes.tally.lock().unwrap());
    tally.lock_seed = seed;
    tally.lock_histories = 1;
    tally.violations = (found.len() + stuck.len()) as u64;
    tally
}

/// The names that cannot be acquired within ten times the longest ttl: nothing may remain beyond a lease.
async fn still_held(server: Option<&SharedRedis>, seed: u64, embedded: &evenkeel::Keel) -> Vec<String> {
    let keel = match server {
        None => embedded.another_process(),
        Some(server) => process::connect(&server.url, &format!("{}h{seed}", server.prefix)).await.unwrap(),
    };
    let wait_max = Duration::from_secs(10);
    let mut stuck = Vec::new();
    for name in process::LOCKS {
        let acquired = keel.lock(name).wait(wait_max).acquire().await;
        stuck.extend(acquired.err().map(|error| format!("the lock {name} is not free after the faults: {error}")));
    }
    let written = keel.rw_lock(process::SHARED).write().wait(wait_max).acquire().await;
    stuck.extend(written.err().map(|error| format!("no writer gets in after the faults: {error}")));
    let all = keel.semaphore(process::DESKS, process::PERMITS).take(process::PERMITS).wait(wait_max).acquire().await;
    stuck.extend(all.err().map(|error| format!("permits are missing after the faults: {error}")));
    stuck
}
