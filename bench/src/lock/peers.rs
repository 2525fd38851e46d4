//! Other Redis locks, each in a process of its own on the client's core, which measures on request.

use super::BENCH;
use crate::peer::{Peers, Process, Question, build};
use crate::row::Row;
use anyhow::Result;
use std::process::Command;
use std::time::Duration;

const RSLOCK: &str = "rslock 0.10.0";
const REDIS_PY: &str = "redis-py 8.1.0, asyncio";
const PYTHON_NEEDS: &str = "redis==8.1.0 uvloop==0.23.0";

/// A lock to compare with.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    process: Process,
}

impl Peer {
    /// What it measures: `what` as in `bench/peers/src/bin/lock.rs`.
    pub(crate) async fn ask(&self, what: &'static str, keys: u64, tasks: usize, span: Duration) -> Result<f64> {
        self.process.rate(Question { peer: what, keys, tasks }, span).await
    }
}

/// Those that can be had here, and rows about those that cannot.
pub(crate) fn start(url: &str) -> (Vec<Peer>, Vec<Row>) {
    let (mut peers, mut absent) = (Vec::new(), Vec::new());
    for (name, program) in [(RSLOCK, rslock as fn() -> Result<Command>), (REDIS_PY, redis_py)] {
        let started = program().and_then(|mut command| {
            command.arg(url);
            Peers::start(command)
        });
        match started {
            Ok(started) => peers.push(Peer { name, process: Process::of(started) }),
            Err(error) => absent.push(Row::absent(BENCH, &format!("{name} ({error:#})"))),
        }
    }
    (peers, absent)
}

/// The versions that are compared with, for the head of the results.
pub(crate) fn versions() -> String {
    format!("{RSLOCK}, {}", PYTHON_NEEDS.replace("==", " "))
}

fn rslock() -> Result<Command> {
    Ok(Command::new(build()?.join("release/lock")))
}

fn redis_py() -> Result<Command> {
    crate::python::script("redis_lock_peer.py", "EVENKEEL_BENCH_PYTHON", PYTHON_NEEDS)
}
