//! Acquires and releases an uncontended lock.

use super::raw::Raw;
use super::{BENCH, Stand};
use crate::info;
use crate::rounds::{Plan, compare};
use crate::row::Row;
use anyhow::Result;
use parking_lot::Mutex;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// Tasks at once, each with a lock of its own.
const TASKS: [usize; 2] = [1, 64];
const UNIT: &str = "pairs/s";
const RAW: &str = "SET NX PX, and a script that compares and deletes";
/// Why fewer of ours can be had of one Redis.
const WHY: &str = "a script issues and stores a fencing token, and looks for waiting processes; a task renews each guard. \
                   The others have none of these";

/// Names that are lent to one task at a time.
#[derive(Clone)]
pub(crate) struct Names(Arc<Mutex<Vec<String>>>);

impl Names {
    pub(crate) fn new(front: &str, count: usize) -> Self {
        Self(Arc::new(Mutex::new((0..count).map(|number| format!("{front}/{number}")).collect())))
    }

    pub(crate) fn take(&self) -> Option<String> {
        self.0.lock().pop()
    }

    pub(crate) fn give_back(&self, name: String) {
        self.0.lock().push(name);
    }
}

pub(crate) async fn run(plan: &Plan, stand: &Stand) -> Result<Vec<Row>> {
    let raw = Raw::open(&stand.redis.url()).await?;
    let mut rows = Vec::new();
    for tasks in TASKS {
        let title = |peer: &str| format!("acquire + release, {tasks} tasks, against {peer}");
        let found = compare(plan, |span| stand.ours.pairs(tasks, span), |span| raw.pairs(tasks, span)).await?;
        rows.push(Row::compared(BENCH, title("plain commands"), UNIT, RAW, found).where_behind(WHY));
        for peer in &stand.peers {
            let theirs = |span| peer.ask("pairs", 0, tasks, span);
            let found = compare(plan, |span| stand.ours.pairs(tasks, span), theirs).await?;
            rows.push(Row::compared(BENCH, title(peer.name), UNIT, peer.name, found).where_behind(WHY));
        }
    }
    let tasks = TASKS[1];
    for peer in &stand.peers {
        let ours = |span| cpu(stand, span, stand.ours.pairs(tasks, span));
        let theirs = |span| cpu(stand, span, peer.ask("pairs", 0, tasks, span));
        let found = compare(&plan.shortened(), ours, theirs).await?;
        let title = format!("Redis's time for acquire + release, {tasks} tasks, against {}", peer.name);
        rows.push(Row::compared(BENCH, title, "µs", peer.name, found).where_behind(WHY));
    }
    Ok(rows)
}

/// Redis's time for each, in µs; `measured` says how many there were in a second.
async fn cpu(stand: &Stand, span: Duration, measured: impl Future<Output = Result<f64>>) -> Result<f64> {
    let before = info::cpu(&stand.redis).await?;
    let pairs = measured.await? * span.as_secs_f64();
    Ok((info::cpu(&stand.redis).await? - before) * 1e6 / pairs)
}
