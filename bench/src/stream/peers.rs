//! Other consumers of Redis streams, each in a process of its own on the client's core, which appends and handles on request.

use super::rates::{LEASE, entries, title};
use super::side::{Side, server};
use super::{BENCH, KEYS, Order};
use crate::peer::{Peers, Process, Question};
use crate::rounds::{Plan, compared};
use crate::row::Row;
use anyhow::Result;
use std::process::Command;
use std::time::Duration;

const SEA: &str = "sea-streamer 0.5.2";
const REDIS_PY: &str = "redis-py 8.1.0, asyncio";
const PYTHON_NEEDS: &str = "redis==8.1.0";
/// What the peers handle of what ours does in the same time.
const SHARE: usize = 4;

/// The versions that are compared with, for the head of the results.
pub(crate) fn versions() -> String {
    format!("{SEA}, {}", PYTHON_NEEDS.replace("==", " "))
}

pub(super) async fn run(plan: &Plan) -> Result<Vec<Row>> {
    let sea = Command::new(crate::peer::build()?.join("release/sea_streamer"));
    let sea = against(plan, SEA, sea).await?;
    let python = match crate::python::script("redis_stream_peer.py", "EVENKEEL_BENCH_PYTHON", PYTHON_NEEDS) {
        Ok(command) => against(plan, REDIS_PY, command).await?,
        Err(error) => Row::absent(BENCH, &format!("{REDIS_PY} ({error:#})")),
    };
    Ok(vec![sea, python])
}

async fn against(plan: &Plan, name: &'static str, mut command: Command) -> Result<Row> {
    let redis = server().await?;
    let mut ours = Side::start(&redis, Some(Order::Unordered), LEASE, 1).await?;
    command.arg(redis.url());
    let peer = Process::of(Peers::start(command)?);
    let work = Question { peer: "work", keys: KEYS, tasks: entries(plan) / SHARE };
    let mut rounds = Vec::new();
    for round in 0..=plan.rounds.div_ceil(3) {
        let rates = (ours.rate(entries(plan), KEYS).await?, peer.rate(work, Duration::ZERO).await?);
        // The first is for warming up.
        if round > 0 {
            rounds.push(rates);
        }
    }
    let title = format!("{}, {KEYS} keys, 1 consumers, against {name}", title(Order::Unordered));
    Ok(Row::compared(BENCH, title, "entries/s", name, compared(&rounds)))
}
