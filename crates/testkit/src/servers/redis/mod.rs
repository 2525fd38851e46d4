//! Redis (or Valkey) as a child process.

mod old;
mod options;

pub use old::OldRedis;
pub use options::RedisOptions;

use super::instance::{Instance, control_methods};
use super::port::Port;
use super::program::Program;
use super::{certificates, readiness};
use crate::folder::Folder;
use crate::process::Launch;
use anyhow::{Context, Result};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, FromRedisValue};
use std::path::{Path, PathBuf};
use std::time::Duration;

const SOCKET: &str = "socket";

/// The deadline of the test kit's own commands, so that they fail instead of hanging on a paused server.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);

/// One Redis on 127.0.0.1, which ends when dropped.
///
/// The test kit's own commands ([`Redis::command`], readiness) use a Unix socket and the default user, so they work with TLS and with ACL
/// users on the port.
#[derive(Debug)]
pub struct Redis {
    instance: Instance,
    options: RedisOptions,
}

control_methods!(Redis);

impl Redis {
    /// Starts a server and returns once it is ready.
    ///
    /// Errors: the server is not installed, or did not start; the error contains the end of its log.
    pub async fn start(options: RedisOptions) -> Result<Redis> {
        let program = Program::find("EVENKEEL_REDIS_SERVER", &["redis-server", "valkey-server"])?;
        readiness::on_free_port(async |port| Redis::start_on(&program, &options, port).await).await
    }

    /// The address: `redis://[user:password@]127.0.0.1:PORT`, or `rediss://` with TLS.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.options.tls { "rediss" } else { "redis" };
        let login = match (&self.options.user, &self.options.password) {
            (Some((name, password)), _) => format!("{name}:{password}@"),
            (None, Some(password)) => format!(":{password}@"),
            (None, None) => String::new(),
        };
        format!("{scheme}://{login}127.0.0.1:{}", self.port())
    }

    /// With [`RedisOptions::tls`]: the certificate authority for clients, as a PEM file.
    #[must_use]
    pub fn tls_authority(&self) -> PathBuf {
        certificates::authority(self.folder())
    }

    /// With [`RedisOptions::tls_clients`]: a certificate for a client.
    #[must_use]
    pub fn tls_client(&self) -> certificates::Identity {
        certificates::client(self.folder())
    }

    /// Runs one command as the default user, such as `["CONFIG", "SET", "maxmemory", "1mb"]`.
    pub async fn command<T: FromRedisValue>(&self, words: &[&str]) -> Result<T> {
        let mut command = redis::Cmd::new();
        words.iter().for_each(|word| {
            command.arg(word);
        });
        let mut connection = self.connection().await?;
        command.query_async(&mut connection).await.with_context(|| format!("redis-server rejected {}", brief(words)))
    }

    /// The Unix socket for the test kit's own commands.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder().join(SOCKET)
    }

    /// The inline command that authenticates the default user, if it has a password.
    pub(crate) fn login(&self) -> Option<String> {
        self.options.password.as_ref().map(|password| format!("AUTH {password}"))
    }

    /// A new connection of the default user over the Unix socket.
    pub async fn connection(&self) -> Result<MultiplexedConnection> {
        connect(self.folder(), &self.options).await
    }

    async fn start_on(program: &Program, options: &RedisOptions, port: Port) -> Result<Redis> {
        let folder = Folder::temporary("redis", program.root.as_deref())?;
        if options.tls {
            certificates::make(folder.path())?;
        }
        let launch = launch(program, options, &port, folder.path());
        let mut redis = Redis { instance: Instance::start(launch, port, folder)?, options: options.clone() };
        redis.until_ready().await?;
        Ok(redis)
    }

    /// The Unix socket opens after the port. A server that loads its append-only file replies to PING with an error until it is ready.
    async fn until_ready(&mut self) -> Result<()> {
        let options = &self.options;
        let ping = async |folder: &Path| {
            let mut connection = connect(folder, options).await?;
            Ok(redis::cmd("PING").query_async::<()>(&mut connection).await?)
        };
        self.instance.until_ready("redis-server", ping).await
    }
}

async fn connect(folder: &Path, options: &RedisOptions) -> Result<MultiplexedConnection> {
    let login = options.password.as_ref().map(|password| format!("?pass={password}")).unwrap_or_default();
    let client = redis::Client::open(format!("redis+unix://{}{login}", folder.join(SOCKET).display()))?;
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(RESPONSE_TIMEOUT))
        .set_response_timeout(Some(RESPONSE_TIMEOUT));
    Ok(client.get_multiplexed_async_connection_with_config(&config).await?)
}

fn launch(program: &Program, options: &RedisOptions, port: &Port, folder: &Path) -> Launch {
    let inside = program.inside(folder);
    let socket = inside.join(SOCKET);
    let number = port.number().to_string();
    let (plain, tls) = if options.tls { ("0", number.as_str()) } else { (number.as_str(), "0") };
    let mut launch = program
        .launch(&folder.join("log"))
        .arguments(["--bind", "127.0.0.1", "--port", plain, "--dir"])
        .argument(&inside)
        .argument("--unixsocket")
        .argument(socket)
        .arguments(["--save", "", "--daemonize", "no", "--repl-diskless-sync-delay", "0"]);
    if options.tls {
        let clients = if options.tls_clients { "yes" } else { "no" };
        launch = launch.arguments(["--tls-port", tls, "--tls-auth-clients", clients]);
        launch = launch.arguments(certificates::redis_arguments(&inside));
    }
    launch.arguments(&options.arguments)
}

/// A command for an error message: shortened, because values may be megabytes.
fn brief(words: &[&str]) -> String {
    words.iter().map(|word| word.chars().take(40).collect::<String>()).take(6).collect::<Vec<_>>().join(" ")
}
