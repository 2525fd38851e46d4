//! Random misuse of caches: settings and options at their extremes in any combination, and hostile user code next to readers and writers
//! whose values are checked.

use super::db::Db;
use super::extremes::{COUNTS, Change, of_counts, of_spans, spans, works};
use super::hostile::{Bodies, Body, bodies, find, load};
use super::large::{MIB, large_and_small};
use super::rig::{Rig, Rows};
use crate::blocks::{block_again, unblock};
use crate::robustness::Round;
use evenkeel::Keel;
use evenkeel::cache::admin::{CacheAdmin, Mode, Outdated};
use evenkeel::cache::{CacheError, Freshness, OpenWindow};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;
use testkit::park::redis;
use tokio::task::JoinHandle;

const VERSIONS: [u64; 7] = [0, 1, 2, (1 << 53) - 1, (1 << 53) + 1, u64::MAX - 1, u64::MAX];

async fn rig(round: &Round) -> Rig {
    if round.is_on_redis() { Rig::redis().await } else { Rig::memory() }
}

/// Caches with up to five settings drawn from the table of extremes, then calls with extreme options.
pub(crate) async fn extremes(mut round: Round) {
    let rig = rig(&round).await;
    let keel = rig.process().await;
    let all: Vec<(String, Change)> = of_spans(&keel).into_iter().chain(of_counts()).collect();
    for number in 0..8 {
        let name = format!("row-{number}");
        let builder = keel.cache(&name).ttl(Duration::from_secs(600)).store_timeout(Duration::from_secs(10));
        let (builder, what) = round.change(builder, &all, 1..=5);
        let opened = builder.open().await;
        let is_refusal = |error: &CacheError| matches!(error, CacheError::Settings { .. });
        let Some(rows) = round.result(format!("open {what}"), opened, is_refusal) else { continue };
        let (db, admin) = (Db::with("a"), keel.cache_admin(&name).unwrap());
        for _ in 0..12 {
            call(&mut round, &rows, &admin, &db).await;
        }
        works(&rows, &what).await;
        round.checked(8);
    }
    works(&rig.rows().await, "an ordinary cache").await;
    round.checked(8);
}

/// A read returns the row, whatever the options are.
async fn call(round: &mut Round, rows: &Rows, admin: &CacheAdmin, db: &Db) {
    // Without versions `AtLeast` is refused, and by the published protocols `Fresh`.
    let never = |error: &CacheError| {
        ["set the version function", "needs the fenced protocol"].iter().any(|part| error.to_string().contains(part))
    };
    let (key, version) = (round.number(1, 3), *round.one(&VERSIONS));
    let span = *round.one(&spans());
    let freshness = match round.number(0, 5) {
        0 => Freshness::Eventual,
        1 => Freshness::Fresh,
        2 => Freshness::StaleWhileRevalidate,
        3 => Freshness::Bounded(span),
        4 => Freshness::StaleIfError(span),
        _ => Freshness::AtLeast(version),
    };
    match round.number(0, 8) {
        0 | 1 => {
            let found = rows.get_with(&key, freshness, |key| db.find(*key)).await;
            let found = round.result(format!("get {key} {freshness:?}"), found, never);
            let Some(found) = found else { return };
            assert_eq!(found.value.as_deref().map(String::as_str), (key == 1).then_some("a"), "{freshness:?}");
            round.checked(1);
        }
        2 => {
            let count = round.number(0, 600);
            let keys: Vec<u64> = (0..count).collect();
            let found = rows.get_many_from(&keys, freshness, |missing, _| db.find_many(missing)).await;
            let found = round.result(format!("get {count} keys {freshness:?}"), found.map_err(CacheError::from), never);
            let Some(found) = found else { return };
            assert_eq!(found.len(), keys.len());
            round.checked(1);
        }
        3 => {
            let done = rows.invalidate_at(&key, version).await;
            round.result(format!("invalidate {key} at {version}"), done, never);
        }
        4 => {
            let write = async |open: OpenWindow| {
                open.wrote_version(version);
                Ok::<_, Infallible>(())
            };
            let written = rows.write_with(&key, write).await.map(drop).map_err(|error| error.to_string());
            // The published protocols have no windows.
            round.result(format!("write {key} at {version}"), written, |error| error.contains("protocol"));
        }
        5 => {
            let window = rows.begin_write(&key).await;
            let window = round
                .result(format!("begin a write of {key}"), window, |error| matches!(error, CacheError::Unsupported(_)));
            if let Some(window) = window {
                window.end_at(version).await;
            }
        }
        6 => {
            let count = *round.one(&COUNTS.map(|count| count.min(700)));
            let keys: Vec<u64> = (0..count as u64).collect();
            round.result(format!("invalidate {count} keys"), rows.invalidate_many(&keys).await, never);
        }
        7 => {
            round.result(format!("purge {key}"), rows.purge(&key).await, never);
        }
        _ => {
            let retain_ms = *round.one(&[0, 1, (1 << 40) - 1, 1 << 40, u64::MAX]);
            let outdated = Outdated { version: Some(version), mode: Mode::Expire { retain_ms }, lag_max: span };
            let call = format!("an operator invalidates {key}: {outdated:?}");
            let done = admin.invalidate(&key.to_string(), outdated).await;
            round.result(call, done, |error| matches!(error, CacheError::Settings { .. }));
        }
    }
}

/// What user code does, named by the key; most of it is what the value does when it is encoded or decoded.
const BEHAVIORS: [&str; 10] = [
    "loader panics",
    "loader panics at once",
    "loader hangs",
    "loader blocks",
    "encode panics",
    "encode blocks",
    "decode panics",
    "decode blocks",
    "version panics",
    "weight panics",
];

/// What the readers and writers of the well-behaved keys share with the test.
#[derive(Clone, Default)]
struct Progress {
    /// Acknowledged writes of all keys.
    writes: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
}

/// Hostile code and dropped calls, while other keys of the cache are read and written.
pub(crate) async fn hostile(mut round: Round) {
    let rig = rig(&round).await;
    block_again();
    let version =
        |body: &Body| if body.0 == "version panics" { panic!("on purpose") } else { body.0.parse().unwrap_or(1) };
    let weight = |body: &Body| if body.0 == "weight panics" { panic!("on purpose") } else { 1 };
    let is_near = round.chance(50);
    let bodies = bodies(&rig, |builder| {
        let builder = builder.load_timeout(Duration::from_secs(3)).version(version);
        if is_near { builder.near_bytes(1 << 20).near_weight(weight) } else { builder }
    });
    let bodies = bodies.await;
    let progress = Progress::default();
    let good: Vec<_> = ["good 1", "good 2"].into_iter().flat_map(|key| pair(&bodies, key, &progress)).collect();
    let mut calls = Vec::new();
    for _ in 0..round.number(10, 40) {
        let behavior = *round.one(&BEHAVIORS);
        let call = round.number(0, 5);
        round.misbehaves(format!("{behavior}, call {call}"));
        let task = misbehave(&bodies, behavior, call);
        if round.chance(20) {
            for _ in 0..round.number(0, 20) {
                tokio::task::yield_now().await;
            }
            round.step("the call is dropped");
            task.abort();
        }
        calls.push((task, call == 4 && behavior == "loader hangs"));
        // Other keys are served in the meantime.
        let before = progress.writes.load(SeqCst);
        while progress.writes.load(SeqCst) == before {
            tokio::task::yield_now().await;
        }
    }
    progress.is_over.store(true, SeqCst);
    for task in good {
        round.checked(rig.while_time_passes(task).await.unwrap());
    }
    unblock();
    // A hanging write ends with its task.
    calls.iter().filter(|(_, is_endless)| *is_endless).for_each(|(call, _)| call.abort());
    for (call, _) in calls {
        // Panics and cancellations are the behaviors.
        drop(rig.while_time_passes(call).await);
    }
    rig.while_time_passes(bodies.until_idle()).await;
    for behavior in BEHAVIORS {
        rig.while_time_passes(bodies.invalidate(behavior)).await.unwrap();
        let served = rig.while_time_passes(find(&bodies, behavior)).await;
        let fails_always = behavior == "version panics" && matches!(served, Err(CacheError::LoaderPanicked(_)));
        assert!(served.is_ok() || fails_always, "{behavior} afterwards: {served:?}");
        round.checked(1);
    }
}

/// A reader and a writer of one well-behaved key; the result is the number of reads or writes.
fn pair(bodies: &Bodies, key: &'static str, progress: &Progress) -> [JoinHandle<u64>; 2] {
    // The number in the database, and the one that reads must return at least.
    let (committed, acknowledged) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let reading = (bodies.clone(), Arc::clone(&committed), Arc::clone(&acknowledged), progress.clone());
    let (bodies, progress) = (bodies.clone(), progress.clone());
    let reader = tokio::spawn(async move {
        let (bodies, committed, acknowledged, progress) = reading;
        let mut reads = 0;
        while !progress.is_over.load(SeqCst) {
            let floor = acknowledged.load(SeqCst);
            let freshness = if reads % 3 == 0 { Freshness::Fresh } else { Freshness::Eventual };
            let committed = Arc::clone(&committed);
            let load = |_: &str| {
                // Read by the future: what the closure does happens before the key is leased.
                async move { Ok::<_, Infallible>(Some(Body(committed.load(SeqCst).to_string()))) }
            };
            let found = bodies.get_with(key, freshness, load).await.unwrap();
            let number: u64 = found.value.unwrap().0.parse().unwrap();
            assert!(number >= floor, "{freshness:?} read of {key} returned {number} after {floor} was acknowledged");
            reads += 1;
            tokio::task::yield_now().await;
        }
        reads
    });
    let writer = tokio::spawn(async move {
        let mut writes = 0;
        while !progress.is_over.load(SeqCst) {
            let commit = || async { Ok::<_, Infallible>(committed.fetch_add(1, SeqCst)) };
            if writes % 2 == 0 {
                assert!(bodies.write(key, commit).await.unwrap().window.is_closed());
            } else {
                commit().await.unwrap();
                bodies.invalidate(key).await.unwrap();
            }
            acknowledged.store(committed.load(SeqCst), SeqCst);
            progress.writes.fetch_add(1, SeqCst);
            writes += 1;
            tokio::task::yield_now().await;
        }
        writes
    });
    [reader, writer]
}

/// One call whose code misbehaves.
fn misbehave(bodies: &Bodies, behavior: &'static str, call: u64) -> JoinHandle<()> {
    let bodies = bodies.clone();
    tokio::spawn(async move {
        let loader = |key: &str| {
            assert_ne!(key, "loader panics at once", "on purpose");
            load(key.to_owned())
        };
        match call {
            0 | 1 => drop(bodies.get(behavior, loader).await),
            2 => drop(bodies.get_with(behavior, Freshness::Fresh, loader).await),
            3 => drop(bodies.get_with(behavior, Freshness::StaleWhileRevalidate, loader).await),
            4 => {
                let write = || async move {
                    match behavior {
                        "loader panics" => panic!("on purpose"),
                        "loader hangs" => pending().await,
                        _ => Ok::<_, Infallible>(()),
                    }
                };
                drop(bodies.write(behavior, write).await);
            }
            _ => drop(bodies.invalidate(behavior).await),
        }
    })
}

/// Values of 1 to 20 MiB next to small ones of another cache, with the real clock, so that a large reply can exceed a deadline.
pub(crate) async fn sizes(mut round: Round) {
    let mut sizes = BTreeSet::new();
    while sizes.iter().sum::<usize>() < 40 * MIB {
        sizes.insert(usize::try_from(round.number(1 << 20, 20 << 20)).unwrap());
    }
    let server = if round.is_on_redis() { Some(redis().await.unwrap()) } else { None };
    let keel = match &server {
        Some(server) => Keel::connect(&format!("{}?prefix={}", server.url, server.prefix)).await.unwrap(),
        None => Keel::memory_with(256 * MIB),
    };
    round.misbehaves(format!("{sizes:?}"));
    let count = 3 * sizes.len() as u64;
    large_and_small(keel, sizes.into_iter().collect()).await;
    round.checked(count);
}
