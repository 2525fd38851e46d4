//! NATS with JetStream as a child process.

use super::instance::{Instance, control_methods};
use super::port::Port;
use super::program::Program;
use super::readiness;
use crate::folder::Folder;
use anyhow::{Result, ensure};
use std::path::Path;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;

/// One NATS with JetStream on 127.0.0.1, which ends when dropped. Its streams are files in its folder, so they survive a restart.
#[derive(Debug)]
pub struct Nats {
    instance: Instance,
}

control_methods!(Nats);

impl Nats {
    /// Starts a server and returns once JetStream is ready.
    ///
    /// Errors: the server is not installed, or did not start; the error contains the end of its log.
    pub async fn start() -> Result<Nats> {
        let program = Program::find("EVENKEEL_NATS_SERVER", &["nats-server"])?;
        readiness::on_free_port(async |port| Nats::start_on(&program, port).await).await
    }

    /// The address: `nats://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port())
    }

    async fn start_on(program: &Program, port: Port) -> Result<Nats> {
        let folder = Folder::temporary("nats", program.root.as_deref())?;
        let launch = program
            .launch(&folder.path().join("log"))
            .arguments(["--addr", "127.0.0.1", "--port", &port.number().to_string(), "--jetstream", "--store_dir"])
            .argument(program.inside(folder.path()));
        let mut nats = Nats { instance: Instance::start(launch, port, folder)? };
        nats.until_ready().await?;
        Ok(nats)
    }

    /// The server sends its greeting once its streams are loaded.
    async fn until_ready(&mut self) -> Result<()> {
        let port = self.port();
        let greeting = async |_: &Path| {
            let connection = TcpStream::connect(("127.0.0.1", port)).await?;
            let mut line = String::new();
            BufReader::new(connection).read_line(&mut line).await?;
            ensure!(line.starts_with("INFO "), "it greets with {line:?}");
            Ok(())
        };
        self.instance.until_ready("nats-server", greeting).await
    }
}
