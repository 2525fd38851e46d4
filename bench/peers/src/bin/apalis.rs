//! apalis-redis over the same Redis, asked as the other queues are: one JSON object a line in, one out
//! (`bench/src/queue/peer.rs`).
//!
//! It keeps due times in whole seconds, so a job is given the next one: never early. It looks for jobs that have become due when
//! its heart beats, by default every 30 s; here it is every second.

use anyhow::{Context, Result, anyhow, bail};
use apalis_core::backend::TaskSink;
use apalis_core::error::BoxDynError;
use apalis_core::task::builder::TaskBuilder;
use apalis_core::task::data::Data;
use apalis_core::worker::builder::WorkerBuilder;
use apalis_core::worker::context::WorkerContext;
use apalis_core::worker::ext::parallelize::ParallelizeExt;
use apalis_redis::{Config, ConnectionManager, RedisStorage};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::task::JoinSet;

/// Jobs of one call.
const BULK: usize = 500;
const DAY_MS: u64 = 86_400_000;
const HEARTBEAT: Duration = Duration::from_secs(1);
/// As many as others run at once.
const BATCH: usize = 100;

/// What is asked.
#[derive(Deserialize)]
struct Question {
    r#do: String,
    #[serde(default)]
    jobs: usize,
    #[serde(default)]
    tasks: usize,
    /// Zero: one by one.
    #[serde(default)]
    bulk: usize,
    #[serde(default)]
    ms: u64,
    #[serde(default)]
    per_second: u64,
    #[serde(default)]
    lead_ms: u64,
}

/// About 100 bytes of JSON.
#[derive(Clone, Serialize, Deserialize)]
struct Job {
    due: f64,
    p: String,
}

type Storage = RedisStorage<Job, ConnectionManager>;

/// What the handler saw: how late each job began, and when.
#[derive(Clone)]
struct Seen {
    jobs: usize,
    begun: Arc<Mutex<Vec<(f64, Instant)>>>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let url = std::env::args().nth(1).context("the address of a Redis must be the first argument")?;
    let connection = apalis_redis::connect(url).await?;
    let config = Config::default().queue("peer").batch_size(BATCH).heartbeat_interval(HEARTBEAT);
    let storage = Storage::new(connection).with_config(config);
    let mut worker = 0;
    // The questions come one after another, and nothing runs between them.
    for line in std::io::stdin().lock().lines() {
        let asked: Question = serde_json::from_str(&line?)?;
        worker += 1;
        let answer = match asked.r#do.as_str() {
            "send" => send(&storage, &asked).await?,
            "fill" => {
                bulk(&storage, asked.jobs, |at| (at_ms(DAY_MS + at), 0.0)).await?;
                json!({})
            }
            "work" => work(&storage, asked.jobs, worker).await?,
            "late" => late(&storage, &asked, worker).await?,
            other => bail!("unknown request: {other}"),
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

async fn send(storage: &Storage, asked: &Question) -> Result<serde_json::Value> {
    let (start, span) = (Instant::now(), Duration::from_millis(asked.ms));
    let mut senders = JoinSet::new();
    for _ in 0..asked.tasks {
        let (mut storage, many) = (storage.clone(), asked.bulk);
        senders.spawn(async move {
            let mut sent = 0;
            while start.elapsed() < span {
                if many == 0 {
                    let task = TaskBuilder::new(job(0.0)).run_at_timestamp(at_ms(DAY_MS)).build();
                    storage.push_task(task).await.map_err(|error| anyhow!("{error}"))?;
                    sent += 1;
                } else {
                    bulk(&storage, many, |_| (at_ms(DAY_MS), 0.0)).await?;
                    sent += many;
                }
            }
            Ok::<_, anyhow::Error>(sent)
        });
    }
    let mut sent = 0;
    while let Some(done) = senders.join_next().await {
        sent += done??;
    }
    Ok(json!({ "rate": sent as f64 / start.elapsed().as_secs_f64() }))
}

async fn work(storage: &Storage, jobs: usize, worker: usize) -> Result<serde_json::Value> {
    bulk(storage, jobs, |_| (0, 0.0)).await?;
    let seen = until(storage, jobs, worker).await?;
    let times = seen.iter().map(|(_, at)| *at);
    let (first, last) = (times.clone().min(), times.max());
    let span = last.zip(first).map(|(last, first)| last - first).context("nothing was handled")?;
    Ok(json!({ "rate": jobs as f64 / span.as_secs_f64() }))
}

async fn late(storage: &Storage, asked: &Question, worker: usize) -> Result<serde_json::Value> {
    let start = now_ms() + asked.lead_ms as f64;
    let due = |at: u64| start + (at * 1_000 / asked.per_second) as f64;
    bulk(storage, asked.jobs, |at| ((due(at) / 1_000.0).ceil() as u64, due(at))).await?;
    let seen = until(storage, asked.jobs, worker).await?;
    let mut late: Vec<f64> = seen.into_iter().map(|(late, _)| late).collect();
    late.sort_by(f64::total_cmp);
    let at = |part: f64| late.get(((late.len() as f64 * part) as usize).min(late.len().saturating_sub(1))).copied();
    Ok(json!({ "p50": at(0.5), "p99": at(0.99), "max": at(1.0) }))
}

/// Sends so many jobs; `at` says in which second the next is due, and when it should be.
async fn bulk(storage: &Storage, jobs: usize, at: impl Fn(u64) -> (u64, f64)) -> Result<()> {
    let mut storage = storage.clone();
    let jobs = jobs as u64;
    for first in (0..jobs).step_by(BULK) {
        let tasks = (first..jobs.min(first + BULK as u64)).map(|number| {
            let (second, due) = at(number);
            TaskBuilder::new(job(due)).run_at_timestamp(second).build()
        });
        storage.push_all(stream::iter(tasks.collect::<Vec<_>>())).await.map_err(|error| anyhow!("{error}"))?;
    }
    Ok(())
}

/// Runs a worker until it has begun so many jobs.
async fn until(storage: &Storage, jobs: usize, worker: usize) -> Result<Vec<(f64, Instant)>> {
    let seen = Seen { jobs, begun: Arc::new(Mutex::new(Vec::with_capacity(jobs))) };
    let worker = WorkerBuilder::new(format!("peer-{worker}"))
        .backend(storage.clone())
        .data(seen.clone())
        .parallelize(tokio::spawn)
        .build(handle);
    worker.run().await?;
    let begun = std::mem::take(&mut *seen.begun.lock().unwrap_or_else(PoisonError::into_inner));
    anyhow::ensure!(begun.len() >= jobs, "its worker ended after {} of {jobs} jobs", begun.len());
    Ok(begun)
}

async fn handle(job: Job, seen: Data<Seen>, worker: WorkerContext) -> Result<(), BoxDynError> {
    let mut begun = seen.begun.lock().unwrap_or_else(PoisonError::into_inner);
    begun.push((now_ms() - job.due, Instant::now()));
    if begun.len() == seen.jobs {
        worker.stop()?;
    }
    Ok(())
}

fn job(due: f64) -> Job {
    Job { due, p: "x".repeat(70) }
}

/// The second that is so many ms away.
fn at_ms(ms: u64) -> u64 {
    (now_ms() as u64 + ms) / 1_000
}

fn now_ms() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64() * 1_000.0)
}
