//! `evenkeel outbox ..`: inspects and operates the outbox of a database.
//!
//! The result goes to standard output, as a table or (with `--json`) as one JSON value; an error goes to standard error, in one line.
//! What writes is refused unless the schema is the one of this program.
//!
//! Exit codes: 0 yes; 1 no (something is parked, or the entry to release was not parked); 2 error.

pub(crate) mod change;
mod list;

use crate::connect::OnDatabase;
use crate::database::{Database, on};
use crate::listing::Listing;
use crate::output::Output;
use anyhow::Result;
use evenkeel::sql::relay::operate::Outbox;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    on: OnDatabase,
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
    let Arguments { on, command } = arguments;
    on.run(async |database, output| operate(database, command, output).await).await
}

/// The statistics, as a table.
pub(crate) async fn listing(database: &Database) -> Result<Listing> {
    on!(database, pool => list::listing(&Outbox::new(pool)).await)
}

async fn operate(database: &Database, command: Command, output: Output) -> Result<bool> {
    if matches!(command, Command::Retry | Command::Purge(_)) {
        database.check_schema().await?;
    }
    match command {
        Command::Ls(page) => on!(database, pool => list::ls(&Outbox::new(pool), &page, output).await),
        Command::Stats => on!(database, pool => list::stats(&Outbox::new(pool), output).await),
        Command::Park(ParkCommand::Ls(page)) => {
            on!(database, pool => list::parked(&Outbox::new(pool), &page, output).await)
        }
        Command::Release(arguments) => change::release(database, &arguments, output).await,
        Command::Retry => on!(database, pool => change::retry(&Outbox::new(pool), output).await),
        Command::Purge(arguments) => on!(database, pool => change::purge(&Outbox::new(pool), &arguments, output).await),
    }
}
