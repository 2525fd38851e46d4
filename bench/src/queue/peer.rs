//! Other queues, each in a process of its own on the client's core, which sends, works and measures on request.
//!
//! A request is one JSON object per line, and so is its reply. A queue that is not installed is reported and skipped.

use anyhow::{Context, Result, anyhow, ensure};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};

/// Where the peers are.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers");

/// Packages to install, as their package managers name them.
const NODE_NEEDS: &str = "bullmq@6.7.0 ioredis@5.11.1";
const PYTHON_NEEDS: &str = "arq==0.28.0 uvloop==0.23.0";

/// A queue to compare with, and how it is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// It takes many jobs in one call.
    pub(crate) has_bulk: bool,
    /// As many jobs at once as it can bear, and handles in about a second.
    pub(crate) jobs: usize,
    /// How many of those are due within ten seconds at most.
    pub(crate) late_jobs: usize,
    /// How long it takes to send these, and a margin.
    pub(crate) lead_ms: u64,
    program: fn() -> Result<Command, String>,
}

/// All of them.
pub(crate) const KINDS: [Kind; 3] = [
    Kind { name: "BullMQ 6.7.0", has_bulk: true, jobs: 30_000, late_jobs: 10_000, lead_ms: 2_000, program: bullmq },
    // It takes all ids that are due into one call of Lua's `unpack`, which ends at about 8,000.
    Kind { name: "apalis-redis 1.0.0", has_bulk: true, jobs: 5_000, late_jobs: 5_000, lead_ms: 1_000, program: apalis },
    Kind {
        name: "arq 0.28.0, polling every 10 ms",
        has_bulk: false,
        jobs: 4_000,
        late_jobs: 5_000,
        lead_ms: 4_000,
        program: arq,
    },
];

/// A request; the peers ignore fields that it does not use.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Question {
    pub(crate) r#do: &'static str,
    pub(crate) jobs: usize,
    pub(crate) tasks: usize,
    /// Jobs of one call; zero: one by one, by a call for one.
    pub(crate) bulk: usize,
    pub(crate) ms: u64,
    pub(crate) per_second: u64,
    pub(crate) lead_ms: u64,
}

/// What is answered: a rate, or how late jobs began, in ms; or nothing.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Answer {
    pub(crate) rate: f64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

/// A peer's process, asked from a runtime that goes on meanwhile.
#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) kind: Kind,
    process: Arc<Mutex<Process>>,
}

struct Process {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts it on the Redis at `url`; `None`, and a line that says what to install, where it is not there.
    pub(crate) fn start(kind: Kind, url: &str) -> Result<Option<Self>> {
        let mut command = match (kind.program)() {
            Ok(command) => command,
            Err(why) => {
                eprintln!("NOT MEASURED: {} ({why})", kind.name);
                return Ok(None);
            }
        };
        let child = command.arg(url).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.with_context(|| format!("{} could not be started", kind.name))?;
        let questions = child.stdin.take().context("standard input is piped")?;
        let answers = BufReader::new(child.stdout.take().context("standard output is piped")?);
        let process = Process { child, questions, answers };
        Ok(Some(Self { kind, process: Arc::new(Mutex::new(process)) }))
    }

    /// Asks, and waits as long as it takes.
    pub(crate) async fn ask(&self, question: Question) -> Result<Answer> {
        let (process, name) = (Arc::clone(&self.process), self.kind.name);
        let asked = tokio::task::spawn_blocking(move || {
            let mut process = process.lock().map_err(|_| anyhow!("an earlier question ended in a panic"))?;
            process.ask(question).with_context(|| format!("{name} was asked {question:?}"))
        });
        asked.await?
    }
}

impl Process {
    fn ask(&mut self, question: Question) -> Result<Answer> {
        writeln!(self.questions, "{}", serde_json::to_string(&question)?)?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        ensure!(!answer.is_empty(), "it ended");
        serde_json::from_str(&answer).with_context(|| format!("it answered {answer:?}"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has nothing to lose.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Who is not compared with, and why.
pub(crate) fn missing() -> impl Iterator<Item = String> {
    let absent = KINDS.iter().filter_map(|kind| Some(format!("{} ({})", kind.name, (kind.program)().err()?)));
    absent.chain(["chasquimq 1.3.0 (it needs XACKDEL and XADD IDMP, which Redis has from 8.6 on)".to_owned()])
}

/// The versions that are compared with, for the head of the results.
pub(crate) fn versions() -> String {
    format!("{}, apalis-redis 1.0.0, {}", NODE_NEEDS.replace('@', " "), PYTHON_NEEDS.replace("==", " "))
}

fn bullmq() -> Result<Command, String> {
    let modules = std::env::var_os("EVENKEEL_BENCH_NODE_MODULES").or_else(global_modules);
    let mut command = Command::new("node");
    command.env("NODE_PATH", modules.unwrap_or_default());
    let missing = format!(
        "install it with `npm install --global {NODE_NEEDS}`; EVENKEEL_BENCH_NODE_MODULES selects another folder of modules"
    );
    installed(&command, &["-e", "require('bullmq'); require('ioredis')"], missing)?;
    command.arg(Path::new(FOLDER).join("bullmq_peer.cjs"));
    Ok(command)
}

fn global_modules() -> Option<OsString> {
    let said = Command::new("npm").args(["root", "--global"]).stderr(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&said.stdout).trim().into())
}

fn arq() -> Result<Command, String> {
    crate::python::script("arq_peer.py", "EVENKEEL_BENCH_ARQ_PYTHON", PYTHON_NEEDS).map_err(|error| error.to_string())
}

fn apalis() -> Result<Command, String> {
    let target = crate::peer::build().map_err(|error| error.to_string())?;
    Ok(Command::new(target.join("release/apalis")))
}

/// Whether the program runs these words without an error.
fn installed(command: &Command, words: &[&str], missing: String) -> Result<(), String> {
    let mut probe = Command::new(command.get_program());
    probe.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let status = probe.args(words).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if status.is_ok_and(|status| status.success()) { Ok(()) } else { Err(missing) }
}
