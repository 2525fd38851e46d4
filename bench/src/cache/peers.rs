//! Other libraries: reads that hit in Redis against each that has a Redis behind it.

use super::BENCH;
use super::reads::users;
use super::server::Server;
use super::values;
use crate::peer::{Peers, Process, Question};
use crate::rounds::{Plan, compare};
use crate::row::Row;
use anyhow::Result;
use evenkeel::Keel;

const UNIT: &str = "reads/s";
const TASKS: usize = 64;

/// Keys of the peers, which are filled through themselves: enough that no two reads in a row are of one key.
const KEYS: u64 = 10_000;

pub(crate) async fn run(plan: &Plan, server: &Server, rust: &Process) -> Result<Vec<Row>> {
    let keel = Keel::connect(&server.url()).await?;
    let cache = values::json(&keel, "peers").await?;
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
