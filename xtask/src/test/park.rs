//! Shared servers for a whole run. The test kit's program runs them until its standard input ends.

use crate::shell;
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Running servers, and the environment variables with their addresses.
pub(crate) struct Park {
    program: Child,
    addresses: Vec<(String, String)>,
}

impl Park {
    /// Starts the servers. `servers` are variables of the test kit that replace installed programs by others.
    pub(crate) fn start(servers: &[(String, String)]) -> Result<Self> {
        let mut command = Command::new(shell::target()?.join("debug/evenkeel-testkit"));
        command.arg("park").envs(servers.iter().cloned()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut program = command.spawn().context("the test kit's program could not be started")?;
        let lines = BufReader::new(program.stdout.take().context("the test kit's output is piped")?).lines();
        let mut addresses = Vec::new();
        for line in lines {
            let line = line?;
            if line == "ready" {
                println!("{} servers are ready", addresses.len());
                addresses.extend(servers.iter().cloned());
                return Ok(Self { program, addresses });
            }
            if let Some((name, url)) = line.split_once('=') {
                addresses.push((name.to_owned(), url.to_owned()));
            }
        }
        bail!("the test kit could not start the servers; its error is above")
    }

    /// The environment variables for the tests.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = (&str, &str)> {
        self.addresses.iter().map(|(name, url)| (name.as_str(), url.as_str()))
    }
}

impl Drop for Park {
    /// The program stops the servers when its input ends.
    fn drop(&mut self) {
        drop(self.program.stdin.take());
        if let Err(error) = self.program.wait() {
            eprintln!("could not wait for the test kit's program: {error}");
        }
    }
}
