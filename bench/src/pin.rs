//! Puts server and client on cores of their own, so that neither waits for the other's turn.

use anyhow::{Context, Result};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

/// Where servers run.
pub(crate) const SERVER_CORE: usize = 0;

/// Where the client, which is what is measured, runs.
pub(crate) const CLIENT_CORE: usize = 1;

/// Keeps a process (its first thread, and what that starts from now on) on one core.
pub(crate) fn process(id: u32, core: usize) -> Result<()> {
    let id = i32::try_from(id).ok().and_then(Pid::from_raw);
    set(Some(id.context("a process id is a positive number")?), core)
}

/// Keeps the calling thread, and the processes it starts from now on, on one core.
pub(crate) fn this_thread(core: usize) -> Result<()> {
    set(None, core)
}

fn set(id: Option<Pid>, core: usize) -> Result<()> {
    let mut cores = CpuSet::new();
    cores.set(core);
    sched_setaffinity(id, &cores).with_context(|| format!("could not pin to core {core}: this bench needs two cores"))
}
