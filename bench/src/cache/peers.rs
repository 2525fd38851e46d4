//! Reads that hit in Redis, against other libraries over the same Redis.

use super::BENCH;
use super::reads::users;
use super::server::Server;
use super::values;
use crate::peer::{Peers, Question};
use crate::rounds::{Plan, compare};
use crate::row::Row;
use anyhow::Result;
use evenkeel::Keel;
use std::cell::RefCell;
use std::future::ready;

const UNIT: &str = "reads/s";
const TASKS: usize = 64;

/// Keys of the peers, which are filled through themselves: enough that no two reads in a row are of one key.
const KEYS: u64 = 10_000;

pub(crate) async fn run(plan: &Plan, server: &Server) -> Result<Vec<Row>> {
    let keel = Keel::connect(&server.url()).await?;
    let cache = values::json(&keel, "peers")?;
    values::fill(&cache, values::user).await?;
    let mut rows = Vec::new();
    let rust = Some(Peers::rust(&server.url())?);
    for (peer, process) in [("amalgam-cache over Redis", rust), ("cashews (Python)", Peers::python(&server.url())?)] {
        let Some(process) = process else { continue };
        let process = RefCell::new(process);
        let question = Question { peer, keys: KEYS, tasks: TASKS };
        let theirs = |span| ready(process.borrow_mut().rate(question, span));
        let found = compare(plan, |span| users(&cache, TASKS, span), theirs).await?;
        rows.push(Row::compared(BENCH, format!("hit, JSON, {TASKS} tasks, against {peer}"), UNIT, peer, found));
    }
    Ok(rows)
}
