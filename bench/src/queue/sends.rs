//! Jobs taken in per second: one by one, by many tasks, and in bulk; against a `SET` and a `ZADD` in one write, which is the
//! least that keeps a body and its time (and checks nothing).

use super::{BENCH, BULK, DELAY, body, opened, send_many};
use crate::load::rate;
use crate::rounds::{Plan, compare};
use crate::row::Row;
use anyhow::Result;
use redis::Pipeline;
use redis::aio::MultiplexedConnection;
use std::sync::atomic::{AtomicU64, Ordering};

const PEER: &str = "SET + ZADD, unchecked";
/// Concurrent senders.
const TASKS: [usize; 2] = [1, 64];

pub(crate) async fn run(plan: &Plan) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for tasks in TASKS {
        rows.push(single(plan, tasks).await?);
    }
    rows.push(bulk(plan).await?);
    Ok(rows)
}

async fn single(plan: &Plan, tasks: usize) -> Result<Row> {
    let (redis, queue) = opened().await?;
    let raw = redis.connection().await?;
    let ours = |span| {
        let queue = queue.clone();
        rate(tasks, span, move |_| {
            let queue = queue.clone();
            async move {
                queue.delay(DELAY, &body()).await?;
                Ok(())
            }
        })
    };
    let peer = |span| {
        let raw = raw.clone();
        rate(tasks, span, move |_| keep(raw.clone(), 1))
    };
    let found = compare(plan, ours, peer).await?;
    Ok(Row::compared(BENCH, format!("jobs taken in, {tasks} at once"), "jobs/s", PEER, found))
}

async fn bulk(plan: &Plan) -> Result<Row> {
    let (redis, queue) = opened().await?;
    let raw = redis.connection().await?;
    let jobs = f64::from(u32::try_from(BULK)?);
    let ours = |span| {
        let queue = queue.clone();
        let calls = rate(1, span, move |_| {
            let queue = queue.clone();
            async move { send_many(&queue, &body()).await }
        });
        async move { Ok(calls.await? * jobs) }
    };
    let peer = |span| {
        let raw = raw.clone();
        let calls = rate(1, span, move |_| keep(raw.clone(), BULK));
        async move { Ok(calls.await? * jobs) }
    };
    let found = compare(plan, ours, peer).await?;
    Ok(Row::compared(BENCH, format!("jobs taken in, {BULK} a call"), "jobs/s", PEER, found))
}

/// What the peer does: so many bodies under new ids, and their times in one index.
async fn keep(mut raw: MultiplexedConnection, jobs: usize) -> Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(1 << 40);
    let mut pipeline = Pipeline::new();
    for _ in 0..jobs {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let id = u128::from(number).to_be_bytes();
        pipeline.cmd("SET").arg([&b"peer:"[..], &id].concat()).arg(&body()[..]).ignore();
        pipeline.cmd("ZADD").arg("peer").arg(number).arg(&id[..]).ignore();
    }
    pipeline.query_async::<()>(&mut raw).await?;
    Ok(())
}
