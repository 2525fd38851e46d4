//! `evenkeel outbox ..`: inspects and operates the outbox of a database.
//!
//! The result goes to standard output, as a table or (with `--json`) as one JSON value; an error goes to standard error, in one line.
//! What writes is refused unless the schema is the one of this program.
//!
//! Exit codes: 0 yes; 1 no (something is parked, or the entry to release was not parked); 2 error.

mod change;
mod list;

use crate::connect::OnDatabase;
use crate::database::{Database, on};
use crate::listing::Listing;
use crate::output::Output;
use anyhow::Result;
use evenkeel::sql;
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
    on.run(async |database, output| {
        if command.writes() {
            database.check_schema().await?;
        }
        on!(database, pool => operate(&Outbox::new(pool), command, output).await)
    })
    .await
}

impl Command {
    fn writes(&self) -> bool {
        match self {
            Self::Ls(_) | Self::Stats | Self::Park(_) => false,
            Self::Release(_) | Self::Retry | Self::Purge(_) => true,
        }
    }
}

/// The statistics, as a table.
pub(crate) async fn listing(database: &Database) -> Result<Listing> {
    on!(database, pool => list::listing(&Outbox::new(pool)).await)
}

async fn operate<DB: sql::Database>(outbox: &Outbox<DB>, command: Command, output: Output) -> Result<bool> {
    match command {
        Command::Ls(page) => list::ls(outbox, &page, output).await,
        Command::Stats => list::stats(outbox, output).await,
        Command::Park(ParkCommand::Ls(page)) => list::parked(outbox, &page, output).await,
        Command::Release(arguments) => change::release(outbox, &arguments, output).await,
        Command::Retry => change::retry(outbox, output).await,
        Command::Purge(arguments) => change::purge(outbox, &arguments, output).await,
    }
}
