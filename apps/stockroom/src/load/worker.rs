//! [`Worker`]: the handle of a worker process.

use super::Ended;
use super::processes::Urls;
use super::share::Share;
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

/// How long a worker is paused: longer than its lease.
const PAUSE: Duration = Duration::from_millis(1_500);

/// Interval of the checks whether a worker has stopped.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The command on a worker's standard input: stop at the next pause point.
pub(super) const PAUSE_COMMAND: &str = "pause";

/// An event of a worker.
pub(super) enum Event {
    Ended(u64, Vec<Ended>),
    Paused,
    Exited(u64),
}

/// A worker process; killed on drop.
pub(super) struct Worker {
    pub(super) id: u64,
    pub(super) share: Share,
    /// Number of its operations that ended.
    pub(super) ended: u64,
    pub(super) is_killed: bool,
    child: Child,
    commands: ChildStdin,
    /// Aborted with the worker: its process id may be reused.
    pauses: JoinSet<()>,
}

impl Worker {
    /// Starts a worker that sends `events`; the last one is [`Event::Exited`].
    pub(super) fn start(urls: &Urls, id: u64, share: Share, events: &UnboundedSender<Event>) -> Result<Self> {
        let program = std::env::current_exe().context("cannot find the path of this program")?;
        let part = serde_json::to_string(&share)?;
        let mut child = Command::new(program)
            .args(["load", "--part", &part])
            // Not as arguments, which every user can read: the URLs may contain passwords.
            .env("STOCKROOM_DATABASE", &urls.database)
            .env("STOCKROOM_REDIS", &urls.redis)
            .envs((!urls.redlock.is_empty()).then(|| ("STOCKROOM_REDLOCK", urls.redlock.join(","))))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("cannot start a worker")?;
        let out = child.stdout.take().context("the worker has no standard output")?;
        let commands = child.stdin.take().context("the worker has no standard input")?;
        tokio::spawn(read_events(id, out, events.clone()));
        Ok(Self { id, share, ended: 0, is_killed: false, child, commands, pauses: JoinSet::new() })
    }

    /// Kills it.
    pub(super) fn kill(&mut self) -> Result<()> {
        self.is_killed = true;
        self.child.start_kill().context("cannot kill a worker")
    }

    /// Pauses it for longer than its lease: while it holds a lock, if its strategy uses one; otherwise at once.
    pub(super) async fn pause(&mut self, events: &UnboundedSender<Event>) -> Result<()> {
        let pid = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        // It may have exited.
        let Some(pid) = pid else { return Ok(()) };
        let strategy: Strategy = self.share.strategy.parse()?;
        let requested = if strategy.uses_lock() {
            self.commands.write_all(format!("{PAUSE_COMMAND}\n").as_bytes()).await
        } else {
            kill_process(pid, Signal::STOP).map_err(Into::into)
        };
        if requested.is_ok() {
            self.pauses.spawn(resume(pid, events.clone()));
        }
        Ok(())
    }

    /// Waits for its exit; returns the status and whether it was killed.
    pub(super) async fn wait(&mut self) -> Result<(ExitStatus, bool)> {
        let status = self.child.wait().await?;
        Ok((status, status.signal() == Some(Signal::KILL.as_raw())))
    }

    /// Number of its operations that did not end.
    pub(super) fn remaining(&self) -> u64 {
        self.share.operations.saturating_sub(self.ended)
    }
}

/// Waits until the process has stopped, and continues it after the pause.
#[expect(clippy::disallowed_methods, reason = "the fault is a pause, and a stopped process sends no notification")]
async fn resume(pid: Pid, events: UnboundedSender<Event>) {
    loop {
        match waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED | WaitIdOptions::NOHANG) {
            Ok(Some(_)) => break,
            Ok(None) => tokio::time::sleep(POLL_INTERVAL).await,
            // It exited before a pause point.
            Err(_) => return,
        }
    }
    let _ = events.send(Event::Paused);
    tokio::time::sleep(PAUSE).await;
    if let Err(error) = kill_process(pid, Signal::CONT) {
        tracing::debug!(%error, "cannot continue a worker");
    }
}

async fn read_events(id: u64, out: ChildStdout, events: UnboundedSender<Event>) {
    let mut lines = BufReader::new(out).lines();
    // A kill may truncate the last line, which then does not parse.
    while let Ok(Some(line)) = lines.next_line().await {
        if let Ok(batch) = serde_json::from_str(&line) {
            let _ = events.send(Event::Ended(id, batch));
        }
    }
    let _ = events.send(Event::Exited(id));
}
