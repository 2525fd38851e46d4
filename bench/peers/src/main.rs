//! Benchmarks of other caches, requested over standard input: a request is one JSON object per line, the reply one number (operations per second).
//!
//! A process of its own, so that neither their features nor their background threads affect the measurement of
//! Evenkeel. The parent process chooses the core on which it runs.

mod local;
mod shared;

use anyhow::{Result, bail};
use serde::Deserialize;
use std::io::{BufRead, Write};
use std::time::Duration;

/// What is asked.
#[derive(Deserialize)]
struct Question {
    /// One of the peers.
    peer: String,
    /// How long to measure.
    ms: u64,
    /// Different keys, all of them present.
    keys: u64,
    /// Tasks at once; only over Redis.
    #[serde(default)]
    tasks: usize,
}

fn main() -> Result<()> {
    let redis = std::env::args().nth(1);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut peers = local::Peers::default();
    let mut shared = None;
    for line in std::io::stdin().lock().lines() {
        let question: Question = serde_json::from_str(&line?)?;
        let span = Duration::from_millis(question.ms);
        let rate = match question.peer.as_str() {
            "amalgam-cache over Redis" => {
                let Some(url) = &redis else { bail!("the address of a Redis must be the first argument") };
                runtime.block_on(async {
                    if shared.is_none() {
                        shared = Some(shared::Peer::open(url, question.keys).await?);
                    }
                    let Some(peer) = &shared else { bail!("it was just opened") };
                    peer.rate(question.tasks, span).await
                })?
            }
            name => runtime.block_on(peers.rate(name, question.keys, span))?,
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "{rate}")?;
        out.flush()?;
    }
    Ok(())
}
