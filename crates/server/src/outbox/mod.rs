//! `evenkeel outbox ..`: the outbox in a database, for operators.
//!
//! What is asked for goes to standard output, as a table or (with `--json`) as one JSON value; errors are one sentence on
//! standard error. Exit codes: 0 done; 1 the answer is no (something is parked, what was to be released was not parked); 2 not
//! done.

mod change;
mod list;

use crate::doctor::address::{Address, Kind};
use crate::queue::not_done;
use crate::queue::output::Output;
use anyhow::{Context, Result, bail};
use evenkeel::sql::Database;
use evenkeel::sql::relay::operate::Outbox;
use sqlx::Pool;
use sqlx::pool::PoolOptions;
use std::process::ExitCode;
use std::time::Duration;

/// How long the database is waited for.
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// What `outbox` was asked for.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The database: mysql://, postgres:// or sqlite:
    #[arg(long, env = "EVENKEEL_DATABASE", value_name = "URL", global = true, hide_env_values = true)]
    database: Option<String>,
    /// Print JSON instead of tables
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List pending units of work, and keys with unsent messages
    Ls(list::PageArguments),
    /// Show statistics
    Stats,
    /// List parked entries: those that failed too often
    #[command(subcommand)]
    Park(ParkCommand),
    /// Release a parked entry: send it again, or skip it for good
    Release(change::ReleaseArguments),
    /// Retry now what waits between two attempts
    Retry,
    /// Delete the rows of completed units of work
    Purge(change::PurgeArguments),
}

#[derive(clap::Subcommand)]
enum ParkCommand {
    /// List parked units of work and keys
    Ls(list::PageArguments),
}

pub(crate) async fn run(arguments: Arguments) -> ExitCode {
    let output = Output::new(arguments.json);
    let address = match address(arguments.database.as_deref()) {
        Ok(address) => address,
        Err(error) => return not_done(&format!("{error:#}")),
    };
    let ran = match address.kind {
        Kind::MySql => operate::<sqlx::MySql>(&address, arguments.command, output).await,
        Kind::Postgres => operate::<sqlx::Postgres>(&address, arguments.command, output).await,
        _ => operate::<sqlx::Sqlite>(&address, arguments.command, output).await,
    };
    match ran {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => not_done(&address.without_secrets(&format!("{error:#}"))),
    }
}

/// The address of a database, and of nothing else.
pub(crate) fn address(url: Option<&str>) -> Result<Address> {
    let url =
        url.context("say which database: --database mysql://.. (or the environment variable EVENKEEL_DATABASE)")?;
    match Address::read(1, url) {
        Ok(address) if address.kind != Kind::Redis => Ok(address),
        _ => bail!("--database is no address of a database: write mysql://, postgres:// or sqlite:"),
    }
}

/// One connection.
pub(crate) async fn connected<DB: Database>(address: &Address) -> Result<Pool<DB>> {
    let options = PoolOptions::new().max_connections(1).acquire_timeout(CONNECT_MAX);
    options.connect(&address.url).await.with_context(|| format!("{} does not answer", address.shown))
}

/// Whether the answer is yes.
async fn operate<DB: Database>(address: &Address, command: Command, output: Output) -> Result<bool> {
    let outbox = Outbox::new(&connected::<DB>(address).await?);
    match command {
        Command::Ls(page) => list::ls(&outbox, &page, output).await,
        Command::Stats => list::stats(&outbox, output).await,
        Command::Park(ParkCommand::Ls(page)) => list::parked(&outbox, &page, output).await,
        Command::Release(arguments) => change::release(&outbox, &arguments, output).await,
        Command::Retry => change::retry(&outbox, output).await,
        Command::Purge(arguments) => change::purge(&outbox, &arguments, output).await,
    }
}
