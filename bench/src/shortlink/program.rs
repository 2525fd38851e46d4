//! Servers as processes of their own on the server's core: the service under test, and its peer.

use crate::pin;
use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;
use testkit::servers::{MariaDb, MariaDbOptions, Redis, RedisOptions};

/// What the service stores its links in.
pub(crate) struct Behind {
    arguments: Vec<OsString>,
    _folder: TempDir,
    servers: Option<(Redis, MariaDb)>,
}

impl Behind {
    /// A data folder with SQLite, and the embedded store.
    pub(crate) fn nothing() -> Self {
        let folder = folder();
        Self { arguments: vec!["--data".into(), folder.path().into()], _folder: folder, servers: None }
    }

    /// A MariaDB and a Redis, on the load generator's core.
    pub(crate) async fn servers() -> Result<Self> {
        let redis = Redis::start(RedisOptions::new()).await?;
        let maria = MariaDb::start(MariaDbOptions::new()).await?;
        pin::process(redis.process_id(), pin::CLIENT_CORE)?;
        maria.execute("CREATE DATABASE links").await?;
        let folder = folder();
        let arguments = ["--redis", &redis.url(), "--database", &maria.database_url("links"), "--data"];
        let mut arguments: Vec<OsString> = arguments.map(OsString::from).to_vec();
        arguments.push(folder.path().into());
        Ok(Self { arguments, _folder: folder, servers: Some((redis, maria)) })
    }

    /// The same servers for a second instance, with a data folder of its own.
    pub(crate) fn another(&self) -> Self {
        let folder = folder();
        let mut arguments = self.arguments.clone();
        arguments.pop();
        arguments.push(folder.path().into());
        Self { arguments, _folder: folder, servers: None }
    }

    /// Empties the Redis; an embedded store is empty with every start.
    pub(crate) fn empty(&self) -> Result<()> {
        let Some((redis, _)) = &self.servers else { return Ok(()) };
        let mut stream = TcpStream::connect(("127.0.0.1", redis.port()))?;
        stream.write_all(b"FLUSHALL\r\n")?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer)?;
        ensure!(&answer == b"+OK\r\n", "FLUSHALL was refused");
        Ok(())
    }

    /// Starts the service on it with cold caches and without a near cache: its shared cache is measured.
    pub(crate) fn serve(&self) -> Result<Program> {
        self.serve_with(&["--near", "0"])
    }

    /// The same with the default near cache.
    pub(crate) fn serve_near(&self) -> Result<Program> {
        self.serve_with(&[])
    }

    /// The same with a near cache of so many links.
    pub(crate) fn serve_with_room(&self, links: usize) -> Result<Program> {
        self.serve_with(&["--near", &links.to_string()])
    }

    /// Without a near cache, with clicks `on` or `off`.
    pub(crate) fn serve_with_clicks(&self, mode: &str, near: &str) -> Result<Program> {
        self.serve_with(&["--near", near, "--clicks", mode])
    }

    fn serve_with(&self, arguments: &[&str]) -> Result<Program> {
        let mut command = Command::new(shortlink()?);
        command.args(["--listen", "127.0.0.1:0"]).args(&self.arguments).args(arguments).env("RUST_LOG", "warn");
        Program::start(command)
    }
}

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

    fn start(mut command: Command) -> Result<Self> {
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

/// The service, built into the same folder as this program.
pub(crate) fn shortlink() -> Result<PathBuf> {
    let file = std::env::current_exe()?.with_file_name("shortlink");
    if !file.exists() {
        bail!("{} is missing: `cargo xtask bench shortlink` builds it", file.display());
    }
    Ok(file)
}

/// A folder of its own that goes with the value.
pub(crate) fn folder() -> TempDir {
    // Without a temporary folder nothing here can run.
    #[expect(clippy::expect_used, reason = "a benchmark cannot run without a temporary folder")]
    tempfile::tempdir().expect("a temporary folder")
}
