//! `evenkeel stream ..`: inspects and operates the streams on a Redis.
//!
//! The result goes to standard output, as a table or (with `--json`) as one JSON value; an error goes to standard error, in one line.
//! Exit codes: 0 yes; 1 no (a group is behind a limit, not every dead letter was replayed); 2 error.

mod change;
mod create;
mod dead;
mod entries;
pub(crate) mod figures;
mod groups;
pub(crate) mod letters;

pub(crate) use dead::{kind, reason};
pub(crate) use groups::listing;

use crate::connect::OnRedis;
use crate::output::Output;
use anyhow::Result;
use evenkeel::Keel;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    on: OnRedis,
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List streams with their groups, lag and dead letters
    Ls,
    /// Show one stream: each partition of each group, with its position and its owner
    Show(groups::StreamArgument),
    /// List the groups of a stream
    Groups(groups::StreamArgument),
    /// Show how far groups are behind; exit code 1 if one is behind a limit
    Lag(groups::LagArguments),
    /// Register a stream for programs that use the console's API; a program of the library registers its own
    Create(create::Arguments),
    /// List the entries of a stream, page by page
    Peek(entries::Arguments),
    /// Pause a group: its consumers receive no entries
    Pause(change::PauseArguments),
    /// Resume a paused group
    Resume(change::GroupArguments),
    /// Move a group back, to handle entries again, or forward, to skip some
    Seek(change::SeekArguments),
    /// List, replay or delete dead letters of a group
    #[command(subcommand)]
    Dead(dead::Command),
    /// Remove entries that all groups have settled; without groups, all that are old enough
    Trim(change::TrimArguments),
    /// Forget a group that has no consumers any more
    Unregister(change::UnregisterArguments),
}

pub(crate) async fn run(arguments: Arguments) -> ExitCode {
    arguments.on.run(async |keel, output| operate(keel, arguments.command, output).await).await
}

async fn operate(keel: &Keel, command: Command, output: Output) -> Result<bool> {
    match command {
        Command::Ls => groups::list(keel, output).await,
        Command::Show(arguments) => groups::show(keel, &arguments, output).await,
        Command::Groups(arguments) => groups::groups(keel, &arguments, output).await,
        Command::Lag(arguments) => groups::lag(keel, &arguments, output).await,
        Command::Create(arguments) => create::run(keel, &arguments, output).await,
        Command::Peek(arguments) => entries::peek(keel, &arguments, output).await,
        Command::Pause(arguments) => change::pause(keel, &arguments, output).await,
        Command::Resume(arguments) => change::resume(keel, &arguments, output).await,
        Command::Seek(arguments) => change::seek(keel, &arguments, output).await,
        Command::Dead(command) => dead::run(keel, command, output).await,
        Command::Trim(arguments) => change::trim(keel, &arguments, output).await,
        Command::Unregister(arguments) => change::unregister(keel, &arguments, output).await,
    }
}
