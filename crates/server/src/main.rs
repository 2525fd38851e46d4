//! The program `evenkeel`: looks at the servers a service stands on, and operates its queues, locks, outboxes and inboxes.

mod doctor;
mod inbox;
mod lock;
mod outbox;
mod queue;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Looks after what Evenkeel stands on.
#[derive(Parser)]
#[command(name = "evenkeel", version, arg_required_else_help = true, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check what Evenkeel needs of a Redis and of a database, and say what is wrong
    Doctor(doctor::Arguments),
    /// Look at messages that came back too late to know, and decide about them
    Inbox(inbox::Arguments),
    /// Look at the locks on a Redis, and take one away
    Lock(lock::Arguments),
    /// Look at the outbox in a database, and decide about what is parked
    Outbox(outbox::Arguments),
    /// Look at the queues on a Redis, and operate them
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
