//! Ids: Snowflake beside its arithmetic limit, an atomic increment and ferroid; numbers of a sequence from the buffer, beside an atomic increment
//! and `INCR`; and the latency of one id. One thread on one core, the server on another.

mod segments;
mod snowflake;

use crate::peer::{Peers, Process, Question, build};
use crate::pin;
use crate::results::Keeper;
use crate::rounds::{Plan, median};
use crate::row::Row;
use anyhow::Result;
use hdrhistogram::Histogram;
use std::hint::{black_box, spin_loop};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};
use testkit::servers::{Redis, RedisOptions};

const BENCH: &str = "id";
const UNIT: &str = "ids/s";
const FERROID: &str = "ferroid 2.0.0, a constant worker id";
const INCREMENT: &str = "an atomic increment";
/// Ids between two readings of the clock.
const IDS: u64 = 1_000;
/// The distance of ids whose latency is measured.
const GAP: Duration = Duration::from_micros(2);

pub(crate) fn run(plan: &Plan, keeper: &mut Keeper) -> Result<()> {
    pin::this_thread(pin::CLIENT_CORE)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let redis = Redis::start(RedisOptions::new()).await?;
        pin::process(redis.process_id(), pin::SERVER_CORE)?;
        if plan.asks_for("snowflake") {
            keeper.keep(snowflake::run(plan, &redis.url()).await?)?;
        }
        if plan.asks_for("segments") {
            keeper.keep(segments::run(plan, &redis.url()).await?)?;
        }
        Ok(())
    })
}

/// What is compared with, for the head of the results.
pub(crate) fn versions() -> String {
    FERROID.to_owned()
}

/// Starts ferroid in a process of its own.
fn ferroid() -> Result<Process> {
    Ok(Process::of(Peers::start(Command::new(build()?.join("release/ids")))?))
}

async fn ask(ferroid: &Process, span: Duration) -> Result<f64> {
    ferroid.rate(Question { peer: "ferroid", keys: 0, tasks: 1 }, span).await
}

/// Ids a second of one task; `next` is awaited for each. Other tasks run in between, such as the heartbeats of the link.
async fn rate<T>(span: Duration, mut next: impl AsyncFnMut() -> Result<T>) -> Result<f64> {
    let (start, mut ids) = (Instant::now(), 0_u64);
    while start.elapsed() < span {
        for _ in 0..IDS {
            black_box(next().await?);
        }
        ids += IDS;
        tokio::task::yield_now().await;
    }
    Ok(ids as f64 / start.elapsed().as_secs_f64())
}

async fn increments(span: Duration) -> Result<f64> {
    let number = AtomicU64::new(0);
    rate(span, async || Ok(number.fetch_add(1, SeqCst))).await
}

/// The latency of one id in ns, at the median and the 99th percentile, half a million ids a second; a reading of the clock is a part of it.
async fn latency<T>(plan: &Plan, what: &str, mut next: impl AsyncFnMut() -> Result<T>) -> Result<Vec<Row>> {
    let mut quantiles = [Vec::new(), Vec::new()];
    for _ in 0..plan.rounds {
        let (start, mut histogram) = (Instant::now(), Histogram::<u64>::new(3)?);
        let mut due = start;
        while start.elapsed() < plan.span {
            for _ in 0..IDS {
                due += GAP;
                while Instant::now() < due {
                    spin_loop();
                }
                let began = Instant::now();
                black_box(next().await?);
                histogram.saturating_record(u64::try_from(began.elapsed().as_nanos())?);
            }
            tokio::task::yield_now().await;
            due = Instant::now();
        }
        for (values, quantile) in quantiles.iter_mut().zip([0.5, 0.99]) {
            values.push(histogram.value_at_quantile(quantile) as f64);
        }
    }
    let rows = quantiles.into_iter().zip(["median", "p99"]);
    Ok(rows.map(|(values, name)| Row::alone(BENCH, format!("{what}, {name}"), "ns", median(values), None)).collect())
}
