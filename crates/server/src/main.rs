//! The program `evenkeel`: checks servers, operates caches, queues, streams, locks, outboxes and inboxes, and serves a console.

mod address;
mod alerts;
mod cache;
mod connect;
mod console;
mod database;
mod demo;
mod doctor;
mod inbox;
mod kind;
mod listing;
mod lock;
mod operations;
mod outbox;
mod output;
mod prefixes;
mod process;
mod queue;
mod roles;
mod shell;
mod stream;
mod time;
mod top;
mod trouble;
mod webhook;

use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;

/// Operate and inspect Evenkeel's caches, queues, streams, locks, outbox and inbox.
#[derive(Parser)]
#[command(name = "evenkeel", version, arg_required_else_help = true, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Evaluate the alert rules and notify a webhook, or print them for Prometheus
    Alerts(alerts::Arguments),
    /// Show one entry of a cache, and invalidate it
    Cache(cache::Arguments),
    /// Serve a console over a made-up shop at work; needs no server
    Demo(demo::Arguments),
    /// Check that a Redis or a database meets Evenkeel's requirements
    Doctor(doctor::Arguments),
    /// List parked inbox messages, and release or skip them
    Inbox(inbox::Arguments),
    /// List locks and their holders, and break a lock
    Lock(lock::Arguments),
    /// List the outbox of a database, and release or skip parked entries
    Outbox(outbox::Arguments),
    /// List the processes that use a Redis, and what they run, as they report it
    Ps(process::Arguments),
    /// Inspect and operate the queues on a Redis
    Queue(queue::Arguments),
    /// Serve the console: queues, jobs and dead letters in a browser
    Serve(console::Arguments),
    /// Inspect and operate the streams on a Redis: groups, lag, dead letters
    Stream(stream::Arguments),
    /// Show live tables, one per tab: topics, streams, caches, locks, processes, outbox
    Top(top::Arguments),
    /// Print the completions of a shell, for example `evenkeel completions bash > /etc/bash_completion.d/evenkeel`
    Completions(shell::CompletionsArguments),
    /// Print the manual page, or write those of all commands into a folder
    Man(shell::ManArguments),
    /// Create tokens for the login of the console
    #[command(subcommand)]
    Token(console::token::Command),
}

fn main() -> ExitCode {
    let command = Arguments::parse().command;
    let mut runtime = match command {
        Command::Demo(_) | Command::Serve(_) => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    match runtime.enable_all().build() {
        Ok(runtime) => runtime.block_on(run(command)),
        Err(error) => connect::exit_code(Err(error.into()), &[]),
    }
}

async fn run(command: Command) -> ExitCode {
    match command {
        Command::Alerts(arguments) => alerts::run(arguments).await,
        Command::Cache(arguments) => cache::run(arguments).await,
        Command::Demo(arguments) => demo::run(arguments).await,
        Command::Doctor(arguments) => doctor::run(&arguments).await,
        Command::Inbox(arguments) => inbox::run(arguments).await,
        Command::Lock(arguments) => lock::run(arguments).await,
        Command::Outbox(arguments) => outbox::run(arguments).await,
        Command::Ps(arguments) => process::run(arguments).await,
        Command::Queue(arguments) => queue::run(arguments).await,
        Command::Serve(arguments) => console::run(arguments).await,
        Command::Stream(arguments) => stream::run(arguments).await,
        Command::Top(arguments) => top::run(arguments).await,
        Command::Completions(arguments) => shell::completions(&arguments, &mut Arguments::command()),
        Command::Man(arguments) => shell::man(&arguments, Arguments::command()),
        Command::Token(command) => console::token::run(&command),
    }
}
