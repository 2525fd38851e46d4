//! Peer caches, each in a process of its own on the client's core, so that their dependencies do not affect ours and both sides of a round
//! run alone.

use anyhow::{Context, Result, anyhow, bail};
use serde::Serialize;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Where the peers are.
pub(crate) const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers");

/// The Python package that is compared with, and the client it needs.
const PYTHON_NEEDS: &str = "cashews==7.6.0 redis==8.1.0";

/// A process that measures when it is asked to.
pub(crate) struct Peers {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// What is asked, see `bench/peers/src/main.rs`.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Question {
    pub(crate) peer: &'static str,
    pub(crate) keys: u64,
    pub(crate) tasks: usize,
}

impl Peers {
    /// The Rust crates: moka, foyer, quick_cache, amalgam-cache. Built here if they are not yet.
    pub(crate) fn rust(redis: &str) -> Result<Self> {
        let target = build()?;
        let mut command = Command::new(target.join("release/evenkeel-bench-peers"));
        command.arg(redis);
        Self::start(command)
    }

    /// A published outbox in Rust, on the PostgreSQL at `url`: oxide-outbox.
    pub(crate) fn outbox(url: &str) -> Result<Self> {
        let mut command = Command::new(build()?.join("release/outbox"));
        command.arg(url);
        Self::start(command)
    }

    /// cashews, in Python. `None`, and a line that says so, where it is not installed.
    pub(crate) fn python(redis: &str) -> Result<Option<Self>> {
        match crate::python::script("cashews_peer.py", "EVENKEEL_BENCH_PYTHON", PYTHON_NEEDS) {
            Ok(mut command) => {
                command.arg(redis);
                Self::start(command).map(Some)
            }
            Err(missing) => {
                eprintln!("NOT MEASURED: cashews ({missing})");
                Ok(None)
            }
        }
    }

    /// Operations a second over `span`, as the peer counts them itself.
    pub(crate) fn rate(&mut self, question: Question, span: Duration) -> Result<f64> {
        #[derive(Serialize)]
        struct Asked {
            #[serde(flatten)]
            question: Question,
            ms: u128,
        }
        let asked = serde_json::to_string(&Asked { question, ms: span.as_millis() })?;
        writeln!(self.questions, "{asked}")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        answer.trim().parse().with_context(|| format!("{} answered {answer:?}", question.peer))
    }

    /// Starts a process that answers so.
    pub(crate) fn start(mut command: Command) -> Result<Self> {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("could not start a peer")?;
        let questions = child.stdin.take().context("standard input is piped")?;
        let answers = BufReader::new(child.stdout.take().context("standard output is piped")?);
        Ok(Self { child, questions, answers })
    }
}

/// The process of a peer. The runtime keeps running during a request, because a link without heartbeats is replaced.
#[derive(Clone)]
pub(crate) struct Process(Arc<Mutex<Peers>>);

impl Process {
    pub(crate) fn of(peers: Peers) -> Self {
        Self(Arc::new(Mutex::new(peers)))
    }

    /// What it measures over `span`.
    pub(crate) async fn rate(&self, question: Question, span: Duration) -> Result<f64> {
        let peers = Arc::clone(&self.0);
        let asked = tokio::task::spawn_blocking(move || {
            let mut peers = peers.lock().map_err(|_| anyhow!("an earlier question ended in a panic"))?;
            peers.rate(question, span)
        });
        asked.await?
    }
}

/// Builds the Rust peers if they are not yet; answers the folder they are in.
pub(crate) fn build() -> Result<PathBuf> {
    let target = Path::new(FOLDER).join("../../target/peers");
    let manifest = Path::new(FOLDER).join("Cargo.toml");
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.args(["build", "--release", "--quiet", "--locked", "--manifest-path"]).arg(manifest);
    let status = build.arg("--target-dir").arg(&target).status().context("could not start cargo")?;
    if !status.success() {
        bail!("bench/peers could not be built");
    }
    Ok(target)
}

impl Drop for Peers {
    fn drop(&mut self) {
        // It has nothing to lose.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The versions that are compared with, for the head of the results.
pub(crate) fn versions() -> String {
    let manifest = std::fs::read_to_string(Path::new(FOLDER).join("Cargo.toml")).unwrap_or_default();
    let pinned = manifest.lines().filter_map(|line| {
        let (name, rest) = line.split_once(" = ")?;
        let version = rest.split_once("\"=")?.1.split('"').next()?;
        Some(format!("{name} {version}"))
    });
    pinned.chain([PYTHON_NEEDS.replace("==", " ")]).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_versions_are_those_of_the_manifest() {
        let versions = super::versions();
        for name in ["amalgam-cache 0.", "foyer-memory 0.", "moka 0.", "quick_cache 0.", "cashews 7."] {
            assert!(versions.contains(name), "{versions}");
        }
    }
}
