//! `evenkeel outbox ..`: inspects and operates the outbox of a database.
//!
//! The result goes to standard output, as a table or (with `--json`) as one JSON value; an error goes to standard error, in one line.
//! Exit codes: 0 yes; 1 no (something is parked, or the entry to release was not parked); 2 error.

mod change;
mod list;

use crate::address::{Address, Kind};
use crate::connect::{connect, database_address, exit_code};
use crate::listing::Listing;
use crate::output::Output;
use anyhow::Result;
use evenkeel::sql::Database;
use evenkeel::sql::relay::operate::Outbox;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Database: mysql://, postgres:// or sqlite:
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
    /// List parked entries: those that used up their attempts
    #[command(subcommand)]
    Park(ParkCommand),
    /// Release a parked entry: send it again, or skip it permanently
    Release(change::ReleaseArguments),
    /// Retry failed entries now, without waiting for their backoff
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
    let address = match database_address(arguments.database.as_deref()) {
        Ok(address) => address,
        Err(error) => return exit_code(Err(error), &[]),
    };
    let result = match address.kind {
        Kind::MySql => operate::<sqlx::MySql>(&address, arguments.command, output).await,
        Kind::Postgres => operate::<sqlx::Postgres>(&address, arguments.command, output).await,
        _ => operate::<sqlx::Sqlite>(&address, arguments.command, output).await,
    };
    exit_code(result, &[&address])
}

/// The outbox of a database of any kind.
pub(crate) enum AnyOutbox {
    MySql(Outbox<sqlx::MySql>),
    Postgres(Outbox<sqlx::Postgres>),
    Sqlite(Outbox<sqlx::Sqlite>),
}

impl AnyOutbox {
    pub(crate) async fn connect(address: &Address) -> Result<Self> {
        Ok(match address.kind {
            Kind::MySql => Self::MySql(Outbox::new(&connect::<sqlx::MySql>(address).await?)),
            Kind::Postgres => Self::Postgres(Outbox::new(&connect::<sqlx::Postgres>(address).await?)),
            _ => Self::Sqlite(Outbox::new(&connect::<sqlx::Sqlite>(address).await?)),
        })
    }

    /// The statistics, as a table.
    pub(crate) async fn listing(&self) -> Result<Listing> {
        match self {
            Self::MySql(outbox) => list::listing(outbox).await,
            Self::Postgres(outbox) => list::listing(outbox).await,
            Self::Sqlite(outbox) => list::listing(outbox).await,
        }
    }
}

async fn operate<DB: Database>(address: &Address, command: Command, output: Output) -> Result<bool> {
    let outbox = Outbox::new(&connect::<DB>(address).await?);
    match command {
        Command::Ls(page) => list::ls(&outbox, &page, output).await,
        Command::Stats => list::stats(&outbox, output).await,
        Command::Park(ParkCommand::Ls(page)) => list::parked(&outbox, &page, output).await,
        Command::Release(arguments) => change::release(&outbox, &arguments, output).await,
        Command::Retry => change::retry(&outbox, output).await,
        Command::Purge(arguments) => change::purge(&outbox, &arguments, output).await,
    }
}
