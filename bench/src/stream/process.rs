//! A consumer's process, as its parent sees it.

use super::consumer::{RESET, Report, Task};
use anyhow::{Context, Result};
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

pub(super) struct Process {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Process {
    pub(super) async fn start(task: &Task) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("consume").stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let input = child.stdin.take().context("standard input is piped")?;
        let output = BufReader::new(child.stdout.take().context("standard output is piped")?).lines();
        let mut process = Self { child, input, output };
        process.say(&serde_json::to_string(task)?).await?;
        Ok(process)
    }

    /// What it has seen since the last reset.
    pub(super) async fn report(&mut self) -> Result<Report> {
        self.ask("").await
    }

    /// The same, and begins anew.
    pub(super) async fn reset(&mut self) -> Result<Report> {
        self.ask(RESET).await
    }

    /// Ends it with `SIGKILL`.
    pub(super) async fn kill(mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }

    async fn ask(&mut self, word: &str) -> Result<Report> {
        self.say(word).await?;
        let line = self.output.next_line().await?.context("the consumer has ended")?;
        Ok(serde_json::from_str(&line)?)
    }

    async fn say(&mut self, line: &str) -> Result<()> {
        Ok(self.input.write_all(format!("{line}\n").as_bytes()).await?)
    }
}
