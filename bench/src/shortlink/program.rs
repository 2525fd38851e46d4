//! The service under test, and what it stores its links in.

use crate::pin;
use crate::program::{Program, built};
use anyhow::{Result, ensure};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use tempfile::TempDir;
use testkit::servers::{MariaDb, MariaDbOptions, Redis, RedisOptions};

/// The service's program.
pub(super) const SHORTLINK: &str = "shortlink";

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
        let mut command = Command::new(built(SHORTLINK)?);
        command.args(["--listen", "127.0.0.1:0"]).args(&self.arguments).args(arguments).env("RUST_LOG", "warn");
        Program::start(command)
    }
}

/// A folder of its own that goes with the value.
pub(crate) fn folder() -> TempDir {
    // Without a temporary folder nothing here can run.
    #[expect(clippy::expect_used, reason = "a benchmark cannot run without a temporary folder")]
    tempfile::tempdir().expect("a temporary folder")
}
