//! Hits of the near cache on one thread, against caches that only live in the process.

use super::BENCH;
use super::peers::Process;
use super::server::Server;
use super::values::{self, no_load};
use crate::peer::Question;
use crate::rounds::{Plan, compare};
use crate::row::Row;
use anyhow::{Result, ensure};
use bytes::Bytes;
use evenkeel::Keel;
use evenkeel::cache::{Cache, Freshness, Tier};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::time::{Duration, Instant};

/// Keys that are read; there is room for four times as many, so that nothing is evicted.
const KEYS: u64 = 10_000;
const ROOM: usize = 40_000;

/// Reads between two looks at the clock; the link's heart beats in between.
const READS: u64 = 1_000;

/// Who else is asked. quick_cache is what the near cache is built on.
const PEERS: [&str; 4] = ["quick_cache", "moka", "foyer", "amalgam-cache"];

pub(crate) async fn run(plan: &Plan, server: &Server, rust: &Process) -> Result<Vec<Row>> {
    let keel = Keel::connect(&server.url()).await?;
    let cache = values::near(&keel, "near", ROOM)?;
    warm(&cache).await?;
    let mut rows = Vec::new();
    for peer in PEERS {
        let question = Question { peer, keys: KEYS, tasks: 1 };
        let found = compare(plan, |span| hits(&cache, span), |span| rust.rate(question, span)).await?;
        rows.push(Row::compared(BENCH, format!("near hit, one thread, against {peer} alone"), "reads/s", peer, found));
    }
    Ok(rows)
}

/// Loads every key, and reads it until it is near.
async fn warm(cache: &Cache<u64, Bytes>) -> Result<()> {
    for key in 0..KEYS {
        cache.get(&key, |_| values::bytes()).await?;
        cache.get(&key, |_| no_load()).await?;
        let found = cache.get_with(&key, Freshness::Eventual, |_| no_load()).await?;
        ensure!(found.tier == Tier::Near, "key {key} is not near after two reads");
    }
    Ok(())
}

async fn hits(cache: &Cache<u64, Bytes>, span: Duration) -> Result<f64> {
    let mut random = SmallRng::seed_from_u64(1);
    let (start, mut reads) = (Instant::now(), 0_u64);
    while start.elapsed() < span {
        for _ in 0..READS {
            let value = cache.get(&random.random_range(0..KEYS), |_| no_load()).await?;
            ensure!(value.is_some(), "a filled key was not found");
        }
        reads += READS;
        tokio::task::yield_now().await;
    }
    Ok(reads as f64 / start.elapsed().as_secs_f64())
}
