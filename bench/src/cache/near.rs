//! Near-cache hits on one thread, compared with in-process caches.

use super::BENCH;
use super::server::Server;
use super::values::{self, no_load};
use crate::peer::{Process, Question};
use crate::rounds::{Plan, compare};
use crate::row::Row;
use anyhow::{Result, ensure};
use bytes::Bytes;
use evenkeel::Keel;
use evenkeel::cache::{Cache, CacheKey, Freshness, Tier};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::fmt::Debug;
use std::time::{Duration, Instant};

/// Keys that are read; there is room for four times as many, so that nothing is evicted.
const KEYS: u64 = 10_000;
const ROOM: usize = 40_000;

const UNIT: &str = "reads/s";

/// Reads between two readings of the clock; the heartbeats of the link run in between.
const READS: u64 = 1_000;

/// Who else is asked. quick_cache is what the near cache is built on. Each has the same keys, and shared values (`Arc`), as
/// a near cache hands them out.
const PEERS: [&str; 4] = ["quick_cache", "moka", "foyer", "amalgam-cache"];

/// The same with text for keys, looked up by `&str`.
const BY_TEXT: &str = "quick_cache by text";

pub(crate) async fn run(plan: &Plan, server: &Server, rust: &Process) -> Result<Vec<Row>> {
    let keel = Keel::connect(&server.url()).await?;
    let cache = values::near(&keel, "near", ROOM).await?;
    warm(&cache, 0..KEYS).await?;
    let by_number = async |key| Ok(cache.get(&key, |_| no_load()).await?.is_some());
    let mut rows = Vec::new();
    for peer in PEERS {
        let question = Question { peer, keys: KEYS, tasks: 1 };
        let found = compare(plan, |span| hits(span, by_number), |span| rust.rate(question, span)).await?;
        rows.push(Row::compared(BENCH, format!("near hit, one thread, against {peer} alone"), UNIT, peer, found));
    }
    let texts: Vec<String> = (0..KEYS).map(|key| format!("row:{key}")).collect();
    let cache = values::near::<String>(&keel, "near-text", ROOM).await?;
    warm(&cache, texts.iter().cloned()).await?;
    let by_text = async |key| {
        let text = &texts[usize::try_from(key)?];
        Ok(cache.get(text.as_str(), |_| no_load()).await?.is_some())
    };
    let question = Question { peer: BY_TEXT, keys: KEYS, tasks: 1 };
    let found = compare(plan, |span| hits(span, by_text), |span| rust.rate(question, span)).await?;
    rows.push(Row::compared(BENCH, "near hit by text, one thread".to_owned(), UNIT, "quick_cache", found));
    Ok(rows)
}

/// Loads every key, and reads it until it is near.
async fn warm<K: CacheKey + Debug>(cache: &Cache<K, Bytes>, keys: impl Iterator<Item = K>) -> Result<()> {
    for key in keys {
        cache.get(&key, |_| values::bytes()).await?;
        cache.get(&key, |_| no_load()).await?;
        let found = cache.get_with(&key, Freshness::Eventual, |_| no_load()).await?;
        ensure!(found.tier == Tier::Near, "key {key:?} is not near after two reads");
    }
    Ok(())
}

/// Reads a second of random ones out of `KEYS` keys; `read` returns whether it found a value.
async fn hits(span: Duration, read: impl AsyncFn(u64) -> Result<bool>) -> Result<f64> {
    let mut random = SmallRng::seed_from_u64(1);
    let (start, mut reads) = (Instant::now(), 0_u64);
    while start.elapsed() < span {
        for _ in 0..READS {
            ensure!(read(random.random_range(0..KEYS)).await?, "a filled key was not found");
        }
        reads += READS;
        tokio::task::yield_now().await;
    }
    Ok(reads as f64 / start.elapsed().as_secs_f64())
}
