//! A flush of Redis under an open-loop load: concurrent loads of the database, latency of served readers, and rejected readers. Readers
//! arrive at a constant rate, whether or not earlier ones have finished.

use super::server::Server;
use super::{BENCH, VALUE_BYTES};
use crate::rounds::Plan;
use crate::row::Row;
use anyhow::{Result, bail, ensure};
use bytes::Bytes;
use evenkeel::Keel;
use evenkeel::cache::{Cache, CacheError};
use evenkeel::codec::Raw;
use hdrhistogram::Histogram;
use rand::rngs::SmallRng;
use rand::{RngCore, SeedableRng};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const KEYS: u64 = 10_000;
const READS_PER_SECOND: u32 = 500;
/// What one load takes, and how many may run: the database bears 400 a second, which is less than arrive.
const LOAD: Duration = Duration::from_millis(20);
const LOADS_MAX: usize = 8;
/// How long a reader waits for its turn.
const WAIT_MAX: Duration = Duration::from_millis(250);

/// A slow database that counts its concurrent loads.
#[derive(Clone, Default)]
struct Database(Arc<Counts>);

#[derive(Default)]
struct Counts {
    running: AtomicUsize,
    peak: AtomicUsize,
}

impl Database {
    async fn load(self) -> Result<Option<Bytes>, Infallible> {
        let running = self.0.running.fetch_add(1, SeqCst) + 1;
        self.0.peak.fetch_max(running, SeqCst);
        tokio::time::sleep(LOAD).await;
        self.0.running.fetch_sub(1, SeqCst);
        Ok(Some(Bytes::from_static(&[b'x'; VALUE_BYTES])))
    }
}

pub(crate) async fn run(plan: &Plan, server: &Server) -> Result<Vec<Row>> {
    let keel = Keel::connect(&server.url()).await?;
    let cache = keel.cache::<u64, Bytes>("flood").ttl(Duration::from_secs(3600)).codec(Raw);
    let cache = cache.loads_max(LOADS_MAX).wait_max(WAIT_MAX).open().await?;
    let keys: Vec<u64> = (0..KEYS).collect();
    let value = Bytes::from_static(&[b'x'; VALUE_BYTES]);
    let fill = |missing: Vec<u64>| {
        let rows: Vec<_> = missing.into_iter().map(|key| (key, value.clone())).collect();
        async move { Ok::<_, Infallible>(rows) }
    };
    ensure!(cache.get_many(&keys, fill).await?.len() == keys.len(), "the cache is not filled");
    // In the background: freeing what the other rows left takes longer than an answer may.
    redis::cmd("FLUSHALL").arg("ASYNC").query_async::<()>(&mut server.raw.clone()).await?;

    let database = Database::default();
    let seconds = if plan.quick { 3 } else { 20 };
    let (waits, shed) = flood(&cache, &database, READS_PER_SECOND * seconds).await?;
    let peak = database.0.peak.load(SeqCst);
    ensure!(peak <= LOADS_MAX, "{peak} loads ran at once, and {LOADS_MAX} were allowed");
    let row = |what: &str, unit, value: f64| {
        Row::alone(BENCH, format!("flushed, {READS_PER_SECOND} reads/s of {KEYS} keys: {what}"), unit, value, None)
    };
    Ok(vec![
        row(&format!("concurrent loads, maximum ({LOADS_MAX} permitted)"), "loads", peak as f64),
        row("latency of served reads, p99", "ms", waits.value_at_quantile(0.99) as f64 / 1e3),
        row("served", "reads", waits.len() as f64),
        row("rejected", "reads", shed as f64),
    ])
}

/// The latencies of served readers, in microseconds since their scheduled arrival, and the number of rejected ones.
async fn flood(cache: &Cache<u64, Bytes>, database: &Database, reads: u32) -> Result<(Histogram<u64>, u64)> {
    let (start, mut random) = (Instant::now(), SmallRng::seed_from_u64(1));
    let mut readers = JoinSet::new();
    for number in 0..reads {
        let due = start + Duration::from_secs(1) * number / READS_PER_SECOND;
        tokio::time::sleep_until(due.into()).await;
        let (cache, database, key) = (cache.clone(), database.clone(), random.next_u64() % KEYS);
        readers.spawn(async move {
            let read = cache.get(&key, |_| database.load()).await;
            (due.elapsed(), read)
        });
    }
    let (mut waits, mut shed) = (Histogram::new(3)?, 0);
    for (wait, read) in readers.join_all().await {
        match read {
            Ok(_) => waits.record(u64::try_from(wait.as_micros())?)?,
            Err(CacheError::Overloaded { .. } | CacheError::Busy { .. }) => shed += 1,
            Err(error) => bail!(error),
        }
    }
    Ok((waits, shed))
}
