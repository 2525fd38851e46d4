//! Jobs taken in per second, due a day later: one by one, by many tasks, and in bulk; against a `SET` and a `ZADD` in one write,
//! which is the least that keeps a body and its time (and checks nothing), and against other queues.

use super::peer::Question;
use super::sides::{Sides, with_each};
use super::{BENCH, BULK, body};
use crate::load::rate;
use crate::rounds::{Plan, compare};
use crate::row::Row;
use anyhow::{Context, Result};
use redis::Pipeline;
use redis::aio::MultiplexedConnection;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const RAW: &str = "SET + ZADD, unchecked";
const UNIT: &str = "jobs/s";
/// What a job of ours costs more than elsewhere.
const WHY: &str = "ours also checks whether a job with the id has ended, and counts jobs and bytes for its limits";
/// Concurrent senders of single jobs.
const TASKS: [usize; 2] = [1, 64];

pub(crate) async fn run(plan: &Plan) -> Result<Vec<Row>> {
    let plan = Plan { span: plan.span * 2 / 3, ..plan.shortened() };
    let mut rows = Vec::new();
    for (tasks, bulk) in ways(true) {
        let sides = Sides::alone("bench", 1).await?;
        let raw = sides.redis.connection().await?;
        let peer = |span| {
            let raw = raw.clone();
            let calls = rate(tasks, span, move |_| keep(raw.clone(), bulk.max(1)));
            async move { Ok(calls.await? * bulk.max(1) as f64) }
        };
        let found = compare(&plan, |span| ours(&sides, tasks, bulk, span), peer).await?;
        rows.push(Row::compared(BENCH, title(tasks, bulk), UNIT, RAW, found).where_behind(WHY));
    }
    for (kind, sides) in with_each(1).await? {
        for (tasks, bulk) in ways(kind.has_bulk) {
            let peer = async |span| {
                let peer = sides.peer.as_ref().context("it was just started")?;
                Ok(peer.ask(question(tasks, bulk, span)).await?.rate)
            };
            let found = compare(&plan, |span| ours(&sides, tasks, bulk, span), peer).await?;
            let title = format!("{}, against {}", title(tasks, bulk), kind.name);
            rows.push(Row::compared(BENCH, title, UNIT, kind.name, found).where_behind(WHY));
        }
    }
    Ok(rows)
}

/// Tasks, and jobs of one call (zero: a call for one job).
fn ways(has_bulk: bool) -> Vec<(usize, usize)> {
    let single = TASKS.map(|tasks| (tasks, 0));
    single.into_iter().chain(has_bulk.then_some((1, BULK))).collect()
}

fn title(tasks: usize, bulk: usize) -> String {
    if bulk == 0 { format!("jobs enqueued, {tasks} at once") } else { format!("jobs enqueued, {bulk} a call") }
}

async fn ours(sides: &Sides, tasks: usize, bulk: usize, span: Duration) -> Result<f64> {
    Ok(sides.ours.ask(question(tasks, bulk, span)).await?.rate)
}

fn question(tasks: usize, bulk: usize, span: Duration) -> Question {
    let ms = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    Question { r#do: "send", tasks, bulk, ms, ..Question::default() }
}

/// The least: so many bodies under new ids, and their times in one index.
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
