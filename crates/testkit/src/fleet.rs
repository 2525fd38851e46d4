//! Instances of a service that start at once, some of which are killed on their way.

use crate::process::{Child, Launch};
use anyhow::{Context, Result, ensure};
use rand::Rng;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ChildStdout;
use std::time::Duration;

/// What becomes of an instance that is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It listens in the end: everything else is an error.
    Listens,
    /// It ends itself at this kill point, if it comes there.
    CrashesAt(String),
    /// It is killed after so long, whatever it does then.
    KilledAfter(Duration),
}

/// Which program is started, and how.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// The program. It is told `--listen`, `--data` and these arguments.
    pub program: PathBuf,
    /// What all instances are told.
    pub arguments: Vec<String>,
    /// Whether all of them have the same data folder.
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
    /// Ten of them: every other one is killed at a moment of its first second.
    pub fn half_killed(random: &mut impl Rng) -> Vec<Fate> {
        let killed = |at: usize, after| if at.is_multiple_of(2) { Fate::KilledAfter(after) } else { Fate::Listens };
        (0..10).map(|at| killed(at, Duration::from_millis(random.random_range(0..1_000)))).collect()
    }
}

impl Fleet {
    /// Starts an instance for each fate, all at once, with their files in `folder`; answers those that listen.
    ///
    /// # Errors
    /// One that was to listen does not, with the end of its log.
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
    let output = child.take_output().context("its output")?;
    let first = tokio::task::spawn_blocking(move || first_line(output));
    if let Fate::KilledAfter(after) = fate {
        // Whatever it says: it is killed at its moment, and not before.
        let _ = tokio::time::timeout(after, std::future::pending::<()>()).await;
        child.kill()?;
        return Ok(None);
    }
    let first = first.await??;
    let address = first.trim_end().strip_prefix("listening on http://").map(str::to_owned);
    ensure!(address.is_some() || fate != Fate::Listens, "it says {first:?}, then:\n{}", child.log_tail());
    Ok(address.map(|address| Instance { child, address }))
}

fn first_line(output: ChildStdout) -> std::io::Result<String> {
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    Ok(line)
}
