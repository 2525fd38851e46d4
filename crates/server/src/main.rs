//! The program `evenkeel`: checks servers, and operates queues, locks, outboxes and inboxes.

mod address;
mod connect;
mod doctor;
mod inbox;
mod lock;
mod outbox;
mod output;
mod queue;
mod time;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Operate and inspect Evenkeel's queues, locks, outbox and inbox.
#[derive(Parser)]
#[command(name = "evenkeel", version, arg_required_else_help = true, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check that a Redis or a database meets Evenkeel's requirements
    Doctor(doctor::Arguments),
    /// List parked inbox messages, and release or skip them
    Inbox(inbox::Arguments),
    /// List locks and their holders, and break a lock
    Lock(lock::Arguments),
    /// List the outbox of a database, and release or skip parked entries
    Outbox(outbox::Arguments),
    /// Inspect and operate the queues on a Redis
    Queue(queue::Arguments),
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Doctor(arguments) => doctor::run(&arguments).await,
        Command::Inbox(arguments) => inbox::run(arguments).await,
        Command::Lock(arguments) => lock::run(arguments).await,
        Command::Outbox(arguments) => outbox::run(arguments).await,
        Command::Queue(arguments) => queue::run(arguments).await,
    }
}
