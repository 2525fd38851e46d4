//! What every subcommand shares: reading the server's address, connecting, and turning the outcome into an exit code.

use crate::address::{Address, Kind};
use crate::database::Database;
use crate::output::{Output, warn};
use anyhow::{Context, Result, bail};
use evenkeel::Keel;
use std::process::ExitCode;

/// Exit code for invalid input, an unreachable server, or an operation that was not completed.
const NOT_DONE: u8 = 2;

/// The options of a command that operates what is on a Redis, and needs nothing else.
#[derive(clap::Args)]
pub(crate) struct OnRedis {
    /// Redis: redis://, rediss:// or unix://, with ?prefix= if the service sets a prefix
    #[arg(long, env = "EVENKEEL_REDIS", value_name = "URL", global = true, hide_env_values = true)]
    redis: Option<String>,
    /// Print JSON instead of tables
    #[arg(long, global = true)]
    json: bool,
}

impl OnRedis {
    /// Connects and runs the command.
    pub(crate) async fn run(self, operate: impl AsyncFnOnce(&Keel, Output) -> Result<bool>) -> ExitCode {
        on_servers(self.redis.as_deref(), None, async |servers| operate(&servers.keel, Output::new(self.json)).await)
            .await
    }
}

/// The options of a command that operates what is in a database.
#[derive(clap::Args)]
pub(crate) struct OnDatabase {
    /// Database: mysql://, postgres:// or sqlite:
    #[arg(long, env = "EVENKEEL_DATABASE", value_name = "URL", global = true, hide_env_values = true)]
    database: Option<String>,
    /// Print JSON instead of tables
    #[arg(long, global = true)]
    json: bool,
}

impl OnDatabase {
    /// Connects and runs the command.
    pub(crate) async fn run(self, operate: impl AsyncFnOnce(&Database, Output) -> Result<bool>) -> ExitCode {
        let address = match database_address(self.database.as_deref()) {
            Ok(address) => address,
            Err(error) => return exit_code(Err(error), &[]),
        };
        let operated = async { operate(&Database::connect(&address).await?, Output::new(self.json)).await };
        exit_code(operated.await, &[&address])
    }
}

/// The servers of a command: a Redis, and a database if one was given.
pub(crate) struct Servers<'a> {
    pub(crate) keel: Keel,
    redis: &'a Address,
    /// Connected only when it is needed.
    pub(crate) database: Option<&'a Address>,
}

impl Servers<'_> {
    /// `text` with every secret of the addresses masked.
    pub(crate) fn without_secrets(&self, text: &str) -> String {
        let addresses = [self.redis].into_iter().chain(self.database);
        addresses.fold(text.to_owned(), |text, address| address.without_secrets(&text))
    }
}

/// Connects to the Redis and runs the command.
pub(crate) async fn on_servers(
    redis: Option<&str>,
    database: Option<&str>,
    operate: impl AsyncFnOnce(&Servers<'_>) -> Result<bool>,
) -> ExitCode {
    on_addresses(redis, database, async |redis, database| {
        // This process ends at once.
        let keel = Keel::builder().process_reports(false).connect(&redis.url).await?;
        operate(&Servers { keel, redis, database }).await
    })
    .await
}

/// Runs a command with the address of the Redis, and that of the database if one was given.
pub(crate) async fn on_addresses(
    redis: Option<&str>,
    database: Option<&str>,
    operate: impl AsyncFnOnce(&Address, Option<&Address>) -> Result<bool>,
) -> ExitCode {
    let read = || Ok((redis_address(redis)?, database.map(|url| database_address(Some(url))).transpose()?));
    let (redis, database) = match read() {
        Ok(addresses) => addresses,
        Err(error) => return exit_code(Err(error), &[]),
    };
    let result = operate(&redis, database.as_ref()).await;
    exit_code(result, &[&redis].into_iter().chain(&database).collect::<Vec<_>>())
}

/// The address of a Redis.
pub(crate) fn redis_address(url: Option<&str>) -> Result<Address> {
    let url = url.context("no Redis given: use --redis redis://host:6379 or set EVENKEEL_REDIS")?;
    match Address::read(1, url) {
        Ok(address) if address.kind == Kind::Redis => Ok(address),
        _ => bail!("--redis is not a Redis address: use redis://, rediss:// or unix://"),
    }
}

/// The address of a database.
pub(crate) fn database_address(url: Option<&str>) -> Result<Address> {
    let url = url.context("no database given: use --database mysql://.. or set EVENKEEL_DATABASE")?;
    match Address::read(1, url) {
        Ok(address) if address.kind != Kind::Redis => Ok(address),
        _ => bail!("--database is not a database address: use mysql://, postgres:// or sqlite:"),
    }
}

/// The exit code of a finished command: 0 for yes, 1 for no, 2 for an error, which is printed without the secrets of `addresses`.
pub(crate) fn exit_code(result: Result<bool>, addresses: &[&Address]) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let message = format!("{error:#}");
            warn(&addresses.iter().fold(message, |message, address| address.without_secrets(&message)));
            ExitCode::from(NOT_DONE)
        }
    }
}
