//! The HTTP load generator: a process of its own (`bench generate`), so that it shares neither runtime nor core with what it
//! measures. It reads a task as JSON from standard input and prints what it found as JSON.

mod connection;
mod pace;

use crate::pin;
use anyhow::{Context, Result, ensure};
use connection::Connection;
use hdrhistogram::Histogram;
use pace::Pacer;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

pub(crate) use pace::Pace;

/// Connections kept open and used by one request at a time each.
pub(crate) const CONNECTIONS: u64 = 64;

/// What to send, and how fast.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    /// Host and port.
    pub(crate) address: String,
    pub(crate) work: Work,
    pub(crate) pace: Pace,
}

/// What to send.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Work {
    /// `GET /{code}`, one after another from the list, from its beginning again at its end.
    Redirects(Vec<String>),
    /// `POST /api/links` with targets that differ from those of every other `salt`.
    Creations { salt: u64 },
}

/// What was found.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Found {
    pub(crate) requests: u64,
    pub(crate) seconds: f64,
    /// From when the request was due.
    pub(crate) p99_us: u64,
    /// Codes of what was created.
    pub(crate) codes: Vec<String>,
}

impl Found {
    pub(crate) fn rate(&self) -> f64 {
        self.requests as f64 / self.seconds
    }
}

/// Runs the task in a process of its own on the client's core.
pub(crate) fn generate(task: &Task) -> Result<Found> {
    let mut child =
        Command::new(std::env::current_exe()?).arg("generate").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    child.stdin.take().context("standard input is piped")?.write_all(&serde_json::to_vec(task)?)?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "the load generator ended with {}", output.status);
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The process of its own.
pub(crate) fn main() -> Result<()> {
    pin::this_thread(pin::CLIENT_CORE)?;
    let task: Task = serde_json::from_reader(std::io::stdin().lock())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let found = runtime.block_on(run(task))?;
    println!("{}", serde_json::to_string(&found)?);
    Ok(())
}

async fn run(task: Task) -> Result<Found> {
    let task = Arc::new(task);
    let next = Arc::new(AtomicU64::new(0));
    let limit = match (&task.pace, &task.work) {
        (Pace::Once, Work::Redirects(codes)) => codes.len() as u64,
        _ => u64::MAX,
    };
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        connections.push(Connection::open(&task.address).await?);
    }
    let start = Instant::now();
    let mut running = Vec::new();
    for (lane, mut connection) in (0..CONNECTIONS).zip(connections) {
        let (task, next) = (Arc::clone(&task), Arc::clone(&next));
        running.push(tokio::spawn(async move {
            let mut times = Histogram::<u64>::new(3)?;
            let mut codes = Vec::new();
            let mut pacer = Pacer::new(&task.pace, start, lane, CONNECTIONS);
            while let Some(due) = pacer.wait().await {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= limit {
                    break;
                }
                codes.extend(connection.ask(&task, number).await?);
                times.record(u64::try_from(due.elapsed().as_micros())?)?;
            }
            Ok::<_, anyhow::Error>((times, codes))
        }));
    }
    let mut times = Histogram::<u64>::new(3)?;
    let mut codes = Vec::new();
    for lane in running {
        let (lane_times, lane_codes) = lane.await??;
        times.add(lane_times)?;
        codes.extend(lane_codes);
    }
    let seconds = start.elapsed().as_secs_f64();
    Ok(Found { requests: times.len(), seconds, p99_us: times.value_at_quantile(0.99), codes })
}
