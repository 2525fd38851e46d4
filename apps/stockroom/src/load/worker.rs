//! [`Worker`]: a process that makes a part of a load's changes, as the one sees it that started it.

use super::Ended;
use super::slice::Slice;
use super::workers::Addresses;
use crate::domain::Strategy;
use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;

/// How long a worker stands still: longer than its locks last.
const PAUSE: Duration = Duration::from_millis(1_500);

/// How often a worker that was told to stand still is looked at.
const LOOK: Duration = Duration::from_millis(2);

/// What a worker is told on its standard input: stand still with the next lock.
pub(super) const PAUSE_ORDER: &str = "pause";

/// What was heard of a worker.
pub(super) enum Heard {
    Ended(u64, Vec<Ended>),
    Stopped,
    Gone(u64),
}

/// A process that makes a part of a load's changes. Killed when it is dropped.
pub(super) struct Worker {
    pub(super) id: u64,
    pub(super) slice: Slice,
    /// How many of its changes have ended.
    pub(super) told: u64,
    pub(super) is_killed: bool,
    child: Child,
    orders: ChildStdin,
    /// Ended with the worker: its number may be another process's by and by.
    pauses: JoinSet<()>,
}

impl Worker {
    /// Starts one. What is heard of it is said to `say`; the last is that it is gone.
    pub(super) fn start(addresses: &Addresses, id: u64, slice: Slice, say: &UnboundedSender<Heard>) -> Result<Self> {
        let program = std::env::current_exe().context("this program does not know where it is")?;
        let part = serde_json::to_string(&slice)?;
        let mut child = Command::new(program)
            .args(["load", "--part", &part])
            // Not as arguments: there may be passwords in them, and everybody can read those.
            .env("STOCKROOM_DATABASE", &addresses.database)
            .env("STOCKROOM_REDIS", &addresses.redis)
            .envs((!addresses.redlock.is_empty()).then(|| ("STOCKROOM_REDLOCK", addresses.redlock.join(","))))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("cannot start a worker")?;
        let out = child.stdout.take().context("a worker's output is piped")?;
        let orders = child.stdin.take().context("a worker's input is piped")?;
        tokio::spawn(listen(id, out, say.clone()));
        Ok(Self { id, slice, told: 0, is_killed: false, child, orders, pauses: JoinSet::new() })
    }

    /// Kills it, wherever it is.
    pub(super) fn kill(&mut self) -> Result<()> {
        self.is_killed = true;
        self.child.start_kill().context("a worker cannot be killed")
    }

    /// Stops it for longer than its locks last: at the worst moment, which is while it holds a lock, where its strategy takes one;
    /// else anywhere.
    pub(super) async fn pause(&mut self, say: &UnboundedSender<Heard>) -> Result<()> {
        let pid = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        // One that has ended needs no pause.
        let Some(pid) = pid else { return Ok(()) };
        let strategy: Strategy = self.slice.strategy.parse()?;
        let told = if strategy.takes_a_lock() {
            self.orders.write_all(format!("{PAUSE_ORDER}\n").as_bytes()).await
        } else {
            kill_process(pid, Signal::STOP).map_err(Into::into)
        };
        if told.is_ok() {
            self.pauses.spawn(wake(pid, say.clone()));
        }
        Ok(())
    }

    /// How it ended, and whether it was killed.
    pub(super) async fn end(&mut self) -> Result<(ExitStatus, bool)> {
        let status = self.child.wait().await?;
        Ok((status, status.signal() == Some(Signal::KILL.as_raw())))
    }

    /// How many changes it did not come to.
    pub(super) fn left(&self) -> u64 {
        self.slice.operations.saturating_sub(self.told)
    }
}

/// Waits until the process has stopped, and lets it go on after a while.
#[expect(clippy::disallowed_methods, reason = "the fault is a pause, and a stopped process sends no notification")]
async fn wake(pid: Pid, say: UnboundedSender<Heard>) {
    loop {
        match waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED | WaitIdOptions::NOHANG) {
            Ok(Some(_)) => break,
            Ok(None) => tokio::time::sleep(LOOK).await,
            // It came to its end before it came to a lock.
            Err(_) => return,
        }
    }
    let _ = say.send(Heard::Stopped);
    tokio::time::sleep(PAUSE).await;
    if let Err(error) = kill_process(pid, Signal::CONT) {
        tracing::debug!(%error, "a worker was gone when it was to go on");
    }
}

async fn listen(id: u64, out: ChildStdout, say: UnboundedSender<Heard>) {
    let mut lines = BufReader::new(out).lines();
    // A line that was cut off by a kill is not one.
    while let Ok(Some(line)) = lines.next_line().await {
        if let Ok(batch) = serde_json::from_str(&line) {
            let _ = say.send(Heard::Ended(id, batch));
        }
    }
    let _ = say.send(Heard::Gone(id));
}
