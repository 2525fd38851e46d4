//! rslock over the same Redis, asked over standard input: a question is one JSON object a line, the answer one number
//! (`bench/src/lock/`).
//!
//! What waits asks again after up to 200 ms, its default. Nothing is renewed by itself outside of `using`, so renewals are calls.

use anyhow::{Context, Result, bail};
use rslock::{Lock, LockManager};
use serde::Deserialize;
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Longer than a measurement.
const TTL: Duration = Duration::from_secs(30);
/// Of locks that are renewed, and how often they are.
const HELD_TTL: Duration = Duration::from_secs(3);
const EVERY: Duration = Duration::from_secs(1);
/// Calls at once where many locks are concerned.
const AT_ONCE: usize = 64;
/// Until everybody waits.
const QUEUED: Duration = Duration::from_millis(100);

/// What is asked.
#[derive(Deserialize)]
struct Question {
    /// What to do.
    peer: String,
    /// How long; for `holds`, how long each holds.
    ms: u64,
    /// Locks there are.
    keys: u64,
    /// Tasks at once, or those that wait.
    #[serde(default)]
    tasks: usize,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let url = std::env::args().nth(1).context("the address of a Redis must be the first argument")?;
    let manager = LockManager::new(vec![url.clone()]);
    // As many as there are processes of others.
    let apart = |tasks: usize| (0..tasks).map(|_| LockManager::new(vec![url.clone()])).collect::<Vec<_>>();
    let together = |tasks: usize| vec![manager.clone(); tasks];
    let mut managers = Vec::new();
    let mut held = Vec::new();
    // The questions come one after another, and nothing runs between them.
    for line in std::io::stdin().lock().lines() {
        let asked: Question = serde_json::from_str(&line?)?;
        let span = Duration::from_millis(asked.ms);
        if asked.peer.ends_with(" apart") && managers.len() != asked.tasks + 1 {
            managers = apart(asked.tasks + 1);
        }
        let answer = match asked.peer.as_str() {
            "pairs" => pairs(&manager, asked.tasks, span).await?,
            "hand-over" => hand_over(together(asked.tasks + 1)).await?,
            "hand-over apart" => hand_over(managers.clone()).await?,
            "holds" => holds(together(asked.tasks), span).await?,
            "holds apart" => holds(managers[1..].to_vec(), span).await?,
            "take" => {
                held = take(&manager, asked.keys).await?;
                0.0
            }
            "renew" => renew(&manager, &held, span).await?,
            "give back" => {
                give_back(std::mem::take(&mut held)).await?;
                0.0
            }
            other => bail!("unknown request: {other}"),
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

/// Acquisitions with their releases a second; each task has a lock of its own.
async fn pairs(manager: &LockManager, tasks: usize, span: Duration) -> Result<f64> {
    let start = Instant::now();
    let mut running = JoinSet::new();
    for task in 0..tasks {
        let manager = manager.clone();
        running.spawn(async move {
            let name = format!("peer/{task}");
            let mut pairs = 0_u64;
            while start.elapsed() < span {
                manager.acquire(name.as_str(), TTL).await?.release().await;
                pairs += 1;
            }
            Ok::<_, anyhow::Error>(pairs)
        });
    }
    let mut pairs = 0;
    while let Some(done) = running.join_next().await {
        pairs += done??;
    }
    Ok(pairs as f64 / start.elapsed().as_secs_f64())
}

/// The time from the first release until the last waiter has had the lock, divided by the number of waiters, in ms. Each waits once.
async fn hand_over(managers: Vec<LockManager>) -> Result<f64> {
    let [first, others @ ..] = managers.as_slice() else { bail!("there are no lock managers") };
    let guard = first.acquire("peer/hot", TTL).await?;
    let mut running = JoinSet::new();
    for manager in others.iter().cloned() {
        running.spawn(async move {
            let guard = manager.acquire("peer/hot", TTL).await?;
            let at = Instant::now();
            guard.release().await;
            Ok::<_, anyhow::Error>(at)
        });
    }
    tokio::time::sleep(QUEUED).await;
    let start = Instant::now();
    guard.release().await;
    let mut last = start;
    while let Some(done) = running.join_next().await {
        last = last.max(done??);
    }
    Ok((last - start).as_secs_f64() * 1e3 / others.len() as f64)
}

/// How long it takes until each of them has held the lock for `hold`, in ms.
async fn holds(managers: Vec<LockManager>, hold: Duration) -> Result<f64> {
    let start = Instant::now();
    let mut running = JoinSet::new();
    for manager in managers {
        running.spawn(async move {
            let guard = manager.acquire("peer/hot", TTL).await?;
            // Exactly so long: a timer of the runtime rounds up to its next millisecond.
            tokio::task::spawn_blocking(move || std::thread::sleep(hold)).await?;
            guard.release().await;
            Ok::<_, anyhow::Error>(())
        });
    }
    while let Some(done) = running.join_next().await {
        done??;
    }
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

async fn take(manager: &LockManager, keys: u64) -> Result<Vec<Lock>> {
    let mut running = JoinSet::new();
    let mut held = Vec::new();
    for key in 0..keys {
        if running.len() == AT_ONCE {
            held.push(running.join_next().await.context("some are on their way")???);
        }
        let manager = manager.clone();
        running.spawn(async move { manager.lock(format!("peer/held/{key}").as_str(), HELD_TTL).await });
    }
    while let Some(taken) = running.join_next().await {
        held.push(taken??);
    }
    Ok(held)
}

/// Renewals a second, each lock's once in `EVERY`.
async fn renew(manager: &LockManager, held: &[Lock], span: Duration) -> Result<f64> {
    let start = Instant::now();
    let share = held.len().div_ceil(AT_ONCE).max(1);
    let tasks = held.chunks(share).map(|share| async move {
        let mut renewed = 0_u64;
        for round in 1.. {
            for lock in share {
                if start.elapsed() >= span {
                    return Ok::<_, anyhow::Error>(renewed);
                }
                manager.extend(lock, HELD_TTL).await?;
                renewed += 1;
            }
            tokio::time::sleep_until((start + EVERY * round).min(start + span).into()).await;
        }
        Ok(renewed)
    });
    let renewed: u64 = futures_util::future::try_join_all(tasks).await?.into_iter().sum();
    Ok(renewed as f64 / start.elapsed().as_secs_f64())
}

async fn give_back(held: Vec<Lock>) -> Result<()> {
    let mut running = JoinSet::new();
    for lock in held {
        if running.len() == AT_ONCE {
            running.join_next().await;
        }
        running.spawn(lock.release());
    }
    while let Some(done) = running.join_next().await {
        done?;
    }
    Ok(())
}
