//! Tests with several processes: the test binary runs itself again.
//!
//! A worker is an ignored test of the same binary, so it needs no program of its own. The test starts it with [`Worker::start`], the
//! worker opens its [`Station`], and both exchange values, one JSON line each.
//!
//! ```no_run
//! # use testkit::process::{Station, Worker};
//! #[tokio::test]
//! #[ignore = "a worker of `readers_in_three_processes`"]
//! async fn reader() -> anyhow::Result<()> {
//!     let Some(mut station) = Station::open()? else { return Ok(()) };
//!     let url: String = station.receive().await?;
//!     station.say(&format!("will read from {url}"))
//! }
//!
//! #[tokio::test]
//! async fn readers_in_three_processes() -> anyhow::Result<()> {
//!     let mut worker = Worker::start("reader")?;
//!     worker.say(&"redis://127.0.0.1")?;
//!     let answer: String = worker.receive().await?;
//!     worker.finish().await
//! }
//! ```

use super::{Child, Launch};
use crate::folder::Folder;
use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::ChildStdin;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Set if an ignored test runs as a worker.
const VARIABLE: &str = "EVENKEEL_TEST_WORKER";

/// Distinguishes messages from the output of the test harness.
const MARK: &str = "@@ ";

/// How long a test waits for a message of its worker.
const DEADLINE: Duration = Duration::from_secs(120);

/// A process that a test started from its own binary; killed when dropped.
#[derive(Debug)]
pub struct Worker {
    test: String,
    input: Option<ChildStdin>,
    lines: UnboundedReceiver<String>,
    child: Child,
    _folder: Folder,
}

impl Worker {
    /// Starts the ignored test with this path in the binary, such as `cache::crowd::reader`, as a process.
    pub fn start(test: &str) -> Result<Worker> {
        Worker::start_with(test, &[])
    }

    /// [`Worker::start`] with more environment variables.
    pub fn start_with(test: &str, environment: &[(&str, &str)]) -> Result<Worker> {
        let folder = Folder::temporary("worker", None)?;
        let program = std::env::current_exe().context("the path of this test binary is unknown")?;
        let mut launch = Launch::new(program, folder.path().join("log"))
            .arguments(["--exact", test, "--ignored", "--nocapture"])
            .environment(VARIABLE, test)
            .piped();
        for (name, value) in environment {
            launch = launch.environment(name, value);
        }
        let mut child = launch.start()?;
        let output = child.take_output().context("the worker's output is piped")?;
        let lines = marked_lines(output);
        Ok(Worker { test: test.to_owned(), input: child.take_input(), lines, child, _folder: folder })
    }

    /// Sends a value to the worker.
    pub fn say<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let input = self.input.as_mut().context("the worker's input is closed")?;
        write_line(input, "", value).with_context(|| format!("the worker {} does not read its input", self.test))
    }

    /// Receives the next value from the worker.
    ///
    /// Errors: the worker ended or sent nothing for two minutes (the error contains the end of its log), or sent another type.
    pub async fn receive<T: DeserializeOwned>(&mut self) -> Result<T> {
        match tokio::time::timeout(DEADLINE, self.lines.recv()).await {
            Ok(Some(line)) => serde_json::from_str(&line).with_context(|| format!("the worker sent {line}")),
            Ok(None) => {
                let status = self.child.wait().await?;
                bail!("the worker {} ended ({status}):\n{}", self.test, self.child.log_tail())
            }
            Err(_) => bail!("the worker {} sends nothing:\n{}", self.test, self.child.log_tail()),
        }
    }

    /// Closes the worker's input and waits for its end.
    ///
    /// Errors: the worker's test failed, or no test has that path; the error contains the end of its log.
    pub async fn finish(mut self) -> Result<()> {
        drop(self.input.take());
        let status = self.child.wait().await?;
        ensure!(status.success(), "the worker {} failed ({status}):\n{}", self.test, self.child.log_tail());
        Ok(())
    }

    /// The process, to pause, resume or kill it.
    pub fn process(&mut self) -> &mut Child {
        &mut self.child
    }
}

/// The worker's side.
#[derive(Debug)]
pub struct Station {
    lines: UnboundedReceiver<String>,
}

impl Station {
    /// The connection to the test that started this process; `None` if the ignored test was started manually.
    pub fn open() -> Result<Option<Station>> {
        if std::env::var_os(VARIABLE).is_none() {
            return Ok(None);
        }
        Ok(Some(Station { lines: lines(std::io::stdin(), Some) }))
    }

    /// Sends a value to the test.
    pub fn say<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        // The harness has printed the name of the test without a newline.
        write_line(&mut std::io::stdout().lock(), &format!("\n{MARK}"), value)
    }

    /// Receives the next value from the test.
    ///
    /// Errors: the test closed the input, or sent another type.
    pub async fn receive<T: DeserializeOwned>(&mut self) -> Result<T> {
        let line = self.lines.recv().await.context("the test closed the input")?;
        serde_json::from_str(&line).with_context(|| format!("the test sent {line}"))
    }

    /// Waits until the test closes the input.
    pub async fn until_finish(&mut self) {
        while self.lines.recv().await.is_some() {}
    }
}

fn write_line<T: Serialize + ?Sized>(output: &mut impl Write, before: &str, value: &T) -> Result<()> {
    let line = format!("{before}{}\n", serde_json::to_string(value)?);
    output.write_all(line.as_bytes())?;
    Ok(output.flush()?)
}

fn marked_lines(output: impl Read + Send + 'static) -> UnboundedReceiver<String> {
    lines(output, |line| line.strip_prefix(MARK).map(str::to_owned))
}

/// Lines as a channel. A thread reads them, because a runtime would wait for a pending read when it shuts down.
fn lines(
    input: impl Read + Send + 'static,
    choose: impl Fn(String) -> Option<String> + Send + 'static,
) -> UnboundedReceiver<String> {
    let (sender, receiver) = unbounded_channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(input).lines().map_while(Result::ok).filter_map(choose);
        for line in lines {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
