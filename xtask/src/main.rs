//! The one task runner of the repository: `cargo xtask` lists what it does.
//!
//! Each task is one file (or folder). Continuous integration runs the same tasks and nothing else.

mod bench;
mod check;
mod demo;
mod fuzz;
mod mutants;
mod setup;
mod shell;
mod sim;
mod test;
mod tidy;
mod verdicts;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;

/// The one task runner of Evenkeel's repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    task: Option<Task>,
}

#[derive(Subcommand)]
enum Task {
    /// Install what the tests need (asks first)
    Setup(setup::Arguments),
    /// fmt, clippy, docs, tidy, cargo-deny and the tests that need no server
    Check,
    /// Everything: tests against real servers, documentation tests, examples, mutants
    Test(test::Arguments),
    /// The rules of this repository that a program can check
    Tidy,
    /// Remove each protocol guard in turn and see the test named for it fail
    Mutants(mutants::Arguments),
    /// Demonstrations that count instead of claiming
    Demo(demo::Arguments),
    /// The long runs under faults, seed by seed
    Sim(sim::Arguments),
    /// Kill a process at each point of a unit of work, on each database, and print what became of its effects
    Verdicts(verdicts::Arguments),
    /// Feed damaged bytes to everything that parses bytes
    Fuzz(fuzz::Arguments),
    /// Comparisons with raw commands and with peers; results go to bench/RESULTS.md
    Bench(bench::Arguments),
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\n{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<()> {
    match arguments.task {
        None => Ok(Arguments::command().print_help()?),
        Some(Task::Setup(arguments)) => setup::run(&arguments),
        Some(Task::Check) => check::run(),
        Some(Task::Test(arguments)) => test::run(&arguments),
        Some(Task::Tidy) => tidy::run(),
        Some(Task::Mutants(arguments)) => mutants::run(&arguments),
        Some(Task::Demo(arguments)) => demo::run(&arguments),
        Some(Task::Sim(arguments)) => sim::run(&arguments),
        Some(Task::Verdicts(arguments)) => verdicts::run(&arguments),
        Some(Task::Fuzz(arguments)) => fuzz::run(&arguments),
        Some(Task::Bench(arguments)) => bench::run(&arguments),
    }
}
