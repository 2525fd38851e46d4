//! Other libraries: those in Rust, asked by several benches, and reads that hit in Redis against each that has a Redis behind it.

use super::BENCH;
use super::reads::users;
use super::server::Server;
use super::values;
use crate::peer::{Peers, Question};
use crate::rounds::{Plan, compare};
use crate::row::Row;
use anyhow::{Result, anyhow};
use evenkeel::Keel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const UNIT: &str = "reads/s";
const TASKS: usize = 64;

/// Keys of the peers, which are filled through themselves: enough that no two reads in a row are of one key.
const KEYS: u64 = 10_000;

/// A peer's process, asked from a runtime that goes on meanwhile: a link whose heart does not beat is replaced.
#[derive(Clone)]
pub(crate) struct Process(Arc<Mutex<Peers>>);

impl Process {
    pub(crate) fn start(server: &Server) -> Result<Self> {
        Peers::rust(&server.url()).map(Self::of)
    }

    fn of(peers: Peers) -> Self {
        Self(Arc::new(Mutex::new(peers)))
    }

    /// Operations a second over `span`.
    pub(crate) async fn rate(&self, question: Question, span: Duration) -> Result<f64> {
        let peers = Arc::clone(&self.0);
        let asked = tokio::task::spawn_blocking(move || {
            let mut peers = peers.lock().map_err(|_| anyhow!("an earlier question ended in a panic"))?;
            peers.rate(question, span)
        });
        asked.await?
    }
}

pub(crate) async fn run(plan: &Plan, server: &Server, rust: &Process) -> Result<Vec<Row>> {
    let keel = Keel::connect(&server.url()).await?;
    let cache = values::json(&keel, "peers")?;
    values::fill(&cache, values::user).await?;
    let mut rows = Vec::new();
    let python = Peers::python(&server.url())?.map(Process::of);
    for (peer, process) in [("amalgam-cache over Redis", Some(rust.clone())), ("cashews (Python) over Redis", python)] {
        let Some(process) = process else { continue };
        let question = Question { peer, keys: KEYS, tasks: TASKS };
        let found = compare(plan, |span| users(&cache, TASKS, span), |span| process.rate(question, span)).await?;
        rows.push(Row::compared(BENCH, format!("hit, JSON, {TASKS} tasks, against {peer}"), UNIT, peer, found));
    }
    Ok(rows)
}
