//! The thread that starts all child processes.
//!
//! `PR_SET_PDEATHSIG` is bound to the *thread* that forked: a child of a test's own thread would be killed when that thread ends,
//! although the process continues. So one thread, which lives as long as the process, starts every child.

use anyhow::{Context, Result, anyhow};
use parking_lot::Mutex;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, Sender, channel};

type Request = (Command, Sender<std::io::Result<Child>>);

static SPAWNER: Mutex<Option<Sender<Request>>> = Mutex::new(None);

/// Starts `command` from the spawner thread.
pub(super) fn spawn(command: Command) -> Result<Child> {
    let program = command.get_program().to_string_lossy().into_owned();
    let (answer, answered) = channel();
    spawner()?.send((command, answer)).map_err(|_| anyhow!("the spawner thread has ended"))?;
    let child = answered.recv().context("the spawner thread has ended")?;
    child.with_context(|| format!("could not start {program}"))
}

fn spawner() -> Result<Sender<Request>> {
    let mut spawner = SPAWNER.lock();
    if let Some(sender) = spawner.as_ref() {
        return Ok(sender.clone());
    }
    let (sender, requests) = channel();
    std::thread::Builder::new().name("testkit-spawner".into()).spawn(move || serve(&requests))?;
    *spawner = Some(sender.clone());
    Ok(sender)
}

fn serve(requests: &Receiver<Request>) {
    while let Ok((mut command, answer)) = requests.recv() {
        if let Err(unclaimed) = answer.send(command.spawn())
            && let Ok(mut child) = unclaimed.0
        {
            child.kill().ok();
            child.wait().ok();
        }
    }
}
