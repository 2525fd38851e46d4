//! Programs under test as processes of their own on the server's core.

use crate::pin;
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A running HTTP server.
pub(crate) struct Program {
    child: Child,
    /// Host and port.
    pub(crate) address: String,
}

impl Program {
    /// The same HTTP server with a constant answer.
    pub(crate) fn constant() -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("constant");
        Self::start(command)
    }

    /// Starts a program that says where it listens.
    pub(crate) fn start(mut command: Command) -> Result<Self> {
        // A child takes over the core of the thread that starts it.
        pin::this_thread(pin::SERVER_CORE)?;
        let mut child =
            command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().context("could not start a server")?;
        pin::this_thread(pin::CLIENT_CORE)?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("standard output is piped")?).read_line(&mut line)?;
        let Some(address) = line.trim().strip_prefix("listening on http://") else {
            child.kill()?;
            bail!("a server said {line:?} instead of where it listens");
        };
        Ok(Self { address: address.to_owned(), child })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let stopped = id.is_some_and(|id| kill_process(id, Signal::TERM).is_ok()) && self.child.wait().is_ok();
        if !stopped {
            eprintln!("a server could not be stopped: process {}", self.child.id());
        }
    }
}

/// A program of the workspace, built into the same folder as this one.
pub(crate) fn built(name: &str) -> Result<PathBuf> {
    let file = std::env::current_exe()?.with_file_name(name);
    if !file.exists() {
        bail!("{} is missing: `cargo xtask bench` builds it", file.display());
    }
    Ok(file)
}
