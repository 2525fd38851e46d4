//! Instances of a service that start at the same time, some of which are killed.

mod schema;

pub use schema::{SchemaOwner, killed_at_random, started_at_once};

use crate::process::{Child, Launch};
use anyhow::{Context, Result, ensure};
use rand::Rng;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ChildStdout;
use std::time::Duration;

/// What an instance is expected to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It listens; anything else is an error.
    Listens,
    /// It crashes at this crash point, if it reaches it.
    CrashesAt(String),
    /// It is killed after this time.
    KilledAfter(Duration),
}

/// The program of the instances and its arguments.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// The program; it receives `--listen`, `--data` and the arguments.
    pub program: PathBuf,
    /// The arguments of all instances.
    pub arguments: Vec<String>,
    /// Whether all instances use the same data folder.
    pub shares_data: bool,
}

/// An instance that listens.
#[derive(Debug)]
pub struct Instance {
    /// The process.
    pub child: Child,
    /// `HOST:PORT`
    pub address: String,
}

impl Fate {
    /// Ten instances, every other one killed at a random time of its first second.
    pub fn half_killed(random: &mut impl Rng) -> Vec<Fate> {
        let killed = |at: usize, after| if at.is_multiple_of(2) { Fate::KilledAfter(after) } else { Fate::Listens };
        (0..10).map(|at| killed(at, Duration::from_millis(random.random_range(0..1_000)))).collect()
    }
}

impl Fleet {
    /// Starts an instance for each fate at the same time, with their files in `folder`, and returns those that listen.
    ///
    /// # Errors
    /// An instance that should listen does not; the error contains the end of its log.
    pub async fn start(&self, folder: &Path, fates: &[Fate]) -> Result<Vec<Instance>> {
        let mut started = Vec::new();
        for (at, fate) in fates.iter().enumerate() {
            let data = if self.shares_data { "data".to_owned() } else { format!("data-{at}") };
            let launch = Launch::new(&self.program, folder.join(format!("log-{at}"))).piped();
            let launch = launch.arguments(["--listen", "127.0.0.1:0", "--data"]).argument(folder.join(data));
            let launch = launch.arguments(&self.arguments);
            let launch = match fate {
                Fate::CrashesAt(point) => launch.environment("EVENKEEL_CRASH_AT", point),
                _ => launch,
            };
            started.push(tokio::spawn(outcome(launch.start()?, fate.clone())));
        }
        let mut listening = Vec::new();
        for outcome in started {
            listening.extend(outcome.await??);
        }
        Ok(listening)
    }
}

async fn outcome(mut child: Child, fate: Fate) -> Result<Option<Instance>> {
    let output = child.take_output().context("the instance has no standard output")?;
    let first = tokio::task::spawn_blocking(move || first_line(output));
    if let Fate::KilledAfter(after) = fate {
        // Killed after this time even if it listens earlier.
        let _ = tokio::time::timeout(after, std::future::pending::<()>()).await;
        child.kill()?;
        return Ok(None);
    }
    let first = first.await??;
    let address = first.trim_end().strip_prefix("listening on http://").map(str::to_owned);
    ensure!(
        address.is_some() || fate != Fate::Listens,
        "the first line is {first:?}; the log ends with:\n{}",
        child.log_tail()
    );
    Ok(address.map(|address| Instance { child, address }))
}

fn first_line(output: ChildStdout) -> std::io::Result<String> {
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    Ok(line)
}
