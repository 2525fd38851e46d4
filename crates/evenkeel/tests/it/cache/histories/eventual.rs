//! C1: histories of eventual reads, single and in batches, of three keels on one Redis, one of them with another schema. Loads
//! take longer than their budget, other programs delete and overwrite entries, operators disable reads and fills, connections are cut.
//!
//! An eventual read that began after an acknowledged invalidation must not return a value older than that.

use super::SEEDS;
use evenkeel::Keel;
use evenkeel::cache::{Cache, Invalidated};
use evenkeel::link::LinkOptions;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde::Serialize;
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use testkit::history::{Recorder, staleness};
use testkit::park::{SharedRedis, redis};
use testkit::proxy::{Proxy, Schedule};

const KEELS: u64 = 3;
const TASKS: u64 = 6;
const OPERATIONS: usize = 40;
const KEYS: u64 = 3;

/// The counts of histories and of their results.
#[derive(Debug, Default, Serialize)]
struct Eventual {
    /// The last of the seeds counted.
    eventual_seed: u64,
    eventual_histories: u64,
    reads: u64,
    failed_reads: u64,
    writes: u64,
    unknown_writes: u64,
    deleted: u64,
    overwritten: u64,
    cut_connections: u64,
    stale: u64,
}

// shows: C1, hazard A31, cache::Freshness::Eventual
#[tokio::test]
async fn eventual_reads_see_every_acknowledged_invalidation() {
    let all = run(1..=3).await;
    assert_eq!(all.stale, 0, "{all:?}");
    assert!(all.reads > 1_000 && all.writes > 50 && all.deleted > 5, "a check of nothing shows nothing: {all:?}");
}

/// The long run of `cargo xtask sim cache`.
#[tokio::test]
#[ignore = "the long run, for `cargo xtask sim cache`"]
async fn long_run() {
    let Ok(seeds) = std::env::var(SEEDS) else { return };
    let (first, last) = seeds.split_once("..").unwrap();
    let all = run(first.parse().unwrap()..=last.parse().unwrap()).await;
    println!("{}", serde_json::to_string(&all).unwrap());
    assert_eq!(all.stale, 0, "{all:?}");
}

async fn run(seeds: std::ops::RangeInclusive<u64>) -> Eventual {
    let server = redis().await.unwrap();
    let mut all = Eventual::default();
    for seed in seeds {
        let one = play(&server, seed).await;
        println!("{}", serde_json::to_string(&one).unwrap());
        all.add(&one);
    }
    all
}

/// One process, and the state that all processes share.
#[derive(Clone)]
struct Process {
    number: u64,
    rows: Cache<u64, u64>,
    shared: Arc<Shared>,
}

struct Shared {
    /// The database: each row is its version.
    rows: Mutex<HashMap<u64, u64>>,
    history: Recorder<u64>,
    /// A connection that uses no cache.
    hand: Keel,
    prefix: String,
    report: Mutex<Eventual>,
}

async fn play(server: &SharedRedis, seed: u64) -> Eventual {
    let random = &mut StdRng::seed_from_u64(seed);
    let port = server.url.rsplit(':').next().unwrap().split('/').next().unwrap().parse().unwrap();
    let prefix = format!("{}e{seed}", server.prefix);
    let shared = Arc::new(Shared {
        rows: Mutex::default(),
        history: Recorder::new(),
        hand: Keel::connect(&server.url).await.unwrap(),
        prefix: prefix.clone(),
        report: Mutex::default(),
    });
    let (mut proxies, mut tasks) = (Vec::new(), tokio::task::JoinSet::new());
    for number in 0..KEELS {
        let proxy = Proxy::start(port, seed).await.unwrap();
        let rows = open(&proxy.url(&server.url), &prefix, if number == 2 { seed % 2 } else { 0 }).await;
        let process = Process { number, rows, shared: Arc::clone(&shared) };
        for task in 0..TASKS {
            tasks.spawn(process.clone().work(StdRng::seed_from_u64(seed * 1_000 + number * 100 + task)));
        }
        proxies.push(proxy);
    }
    let faults = [(); 3].map(|()| {
        let faults = random.random_range(0..3);
        Schedule::random(random.random(), faults)
    });
    let [one, two, three] = &proxies[..] else { panic!("three proxies") };
    let work = async { while tasks.join_next().await.transpose().unwrap().is_some() {} };
    let (.., a, b, c) = tokio::join!(work, one.play(&faults[0]), two.play(&faults[1]), three.play(&faults[2]));
    a.and(b).and(c).unwrap();
    let found = staleness(&shared.history.history());
    if let Err(worst) = found.within(Duration::ZERO) {
        eprintln!("seed {seed}: {found}\n{faults:?}\n{worst}");
    }
    let accepted: u64 = proxies.iter().map(|proxy| proxy.counters().accepted).sum();
    let mut report = std::mem::take(&mut *shared.report.lock().unwrap());
    report.eventual_seed = seed;
    report.eventual_histories = 1;
    report.cut_connections = accepted.saturating_sub(KEELS);
    report.stale = found.stale.len() as u64;
    (report.reads, report.writes) = (found.reads, found.writes);
    report
}

async fn open(url: &str, prefix: &str, schema: u64) -> Cache<u64, u64> {
    let separator = if url.contains('?') { '&' } else { '?' };
    let quick = format!("{url}{separator}response_timeout_ms=500&connect_timeout_ms=1000&heartbeat_ms=200");
    let mut options = LinkOptions::from_url(&quick).unwrap();
    prefix.clone_into(&mut options.prefix);
    let keel = Keel::builder().connect_with(options).await.unwrap();
    let rows = keel.cache("row").ttl(Duration::from_secs(60)).lease(Duration::from_millis(50));
    let rows = rows.load_budget(Duration::from_millis(20)).load_timeout(Duration::from_secs(5));
    rows.schema(u32::try_from(schema).unwrap()).open().await.unwrap()
}

impl Process {
    async fn work(self, mut random: StdRng) {
        for _ in 0..OPERATIONS {
            let key = random.random_range(0..KEYS);
            match random.random_range(0..100) {
                0..70 => self.read(key, &mut random).await,
                70..80 => self.read_all(&mut random).await,
                80..92 => self.write(key).await,
                92..96 => self.spoil(key, random.random_bool(0.5)).await,
                96 => self.rows.bypass_fills(random.random_bool(0.5)),
                97 => self.rows.bypass_reads(random.random_bool(0.3)),
                _ => _ = self.rows.purge(&key).await,
            }
        }
        self.rows.bypass_fills(false);
        self.rows.bypass_reads(false);
    }

    async fn read(&self, key: u64, random: &mut StdRng) {
        let (read, takes) = (self.shared.history.read(self.number, key.to_string()), load_time(random));
        match self.rows.get(&key, |key| Arc::clone(&self.shared).load(*key, takes)).await {
            Ok(value) => read.saw(value.as_deref().copied()),
            Err(_) => self.shared.report.lock().unwrap().failed_reads += 1,
        }
    }

    async fn read_all(&self, random: &mut StdRng) {
        let keys: Vec<u64> = (0..KEYS).collect();
        let reads: Vec<_> = keys.iter().map(|key| self.shared.history.read(self.number, key.to_string())).collect();
        let takes = load_time(random);
        let found = self.rows.get_many(&keys, |missing| Arc::clone(&self.shared).load_many(missing, takes)).await;
        match found {
            Ok(found) => {
                for (key, read) in keys.iter().zip(reads) {
                    read.saw(found[key].as_deref().copied());
                }
            }
            Err(_) => self.shared.report.lock().unwrap().failed_reads += 1,
        }
    }

    /// A commit, then its invalidation, which is acknowledged only with `Done`.
    async fn write(&self, key: u64) {
        let write = {
            let mut rows = self.shared.rows.lock().unwrap();
            let version = rows.entry(key).or_insert(0);
            *version += 1;
            self.shared.history.write(self.number, key.to_string(), Some(*version))
        };
        match self.rows.invalidate(&key).await {
            Ok(Invalidated::Done) => write.acknowledged(),
            Ok(_) | Err(_) => {
                write.unknown();
                self.shared.report.lock().unwrap().unknown_writes += 1;
            }
        }
    }

    /// Deletes or overwrites an entry without a cache.
    async fn spoil(&self, key: u64, deletes: bool) {
        let entry = format!("{}:c:row:{{{key}}}", self.shared.prefix);
        let mut command = redis::cmd(if deletes { "DEL" } else { "SET" });
        command.arg(entry);
        if !deletes {
            command.arg("no entry").arg("PX").arg(60_000);
        }
        self.shared.hand.link().unwrap().command(b"", &command).await.unwrap();
        let mut report = self.shared.report.lock().unwrap();
        *if deletes { &mut report.deleted } else { &mut report.overwritten } += 1;
    }
}

impl Shared {
    async fn load(self: Arc<Self>, key: u64, takes: Duration) -> Result<Option<u64>, Infallible> {
        let version = self.rows.lock().unwrap().get(&key).copied();
        pass(takes).await;
        Ok(version)
    }

    async fn load_many(self: Arc<Self>, keys: Vec<u64>, takes: Duration) -> Result<Vec<(u64, u64)>, Infallible> {
        let found: Vec<(u64, u64)> = {
            let rows = self.rows.lock().unwrap();
            keys.into_iter().filter_map(|key| Some((key, *rows.get(&key)?))).collect()
        };
        pass(takes).await;
        Ok(found)
    }
}

/// How long a load takes: one in four is longer than the budget.
fn load_time(random: &mut StdRng) -> Duration {
    let above = random.random_bool(0.25);
    Duration::from_millis(if above { random.random_range(21..60) } else { random.random_range(0..6) })
}

/// A query that takes this long.
async fn pass(span: Duration) {
    tokio::time::timeout(span, std::future::pending::<()>()).await.ok();
}

impl Eventual {
    fn add(&mut self, one: &Self) {
        self.eventual_seed = one.eventual_seed;
        self.eventual_histories += one.eventual_histories;
        self.reads += one.reads;
        self.failed_reads += one.failed_reads;
        self.writes += one.writes;
        self.unknown_writes += one.unknown_writes;
        self.deleted += one.deleted;
        self.overwritten += one.overwritten;
        self.cut_connections += one.cut_connections;
        self.stale += one.stale;
    }
}
