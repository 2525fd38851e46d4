//! The task runner of the repository: `cargo xtask` lists the tasks.
//!
//! Each task is one file (or folder). Continuous integration runs the same tasks and nothing else.

mod api;
mod bench;
mod check;
mod demo;
mod fuzz;
mod mixed;
mod mutants;
mod setup;
mod shell;
mod sim;
mod steps;
mod test;
mod tidy;
mod verdicts;
mod weight;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;

/// The task runner of Evenkeel's repository.
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
    /// Run the checks that need no server: fmt, clippy, docs, tidy, cargo-deny, hermetic tests
    Check(check::Arguments),
    /// Run everything: tests against real servers, documentation tests, examples, fuzzing, mutants
    Test(test::Arguments),
    /// Check the repository's own rules
    Tidy(tidy::Arguments),
    /// Count the functions of the two programs, and fail if they have grown
    Weight,
    /// Write the lists of public items in docs/api
    Api,
    /// Remove protocol guards one at a time, and check that the test named for each fails
    Mutants(mutants::Arguments),
    /// Run a demonstration
    Demo(demo::Arguments),
    /// Run long simulations under faults, by seed
    Sim(sim::Arguments),
    /// Kill a process at each point of a unit of work, on each database, and check its effects
    Verdicts(verdicts::Arguments),
    /// Let programs of an older commit and of this tree share a Redis, in both directions
    Mixed(mixed::Arguments),
    /// Fuzz every parser
    Fuzz(fuzz::Arguments),
    /// Compare with raw commands and with peers; bench/RESULTS.md has the results
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
        Some(Task::Check(arguments)) => check::run(&arguments),
        Some(Task::Test(arguments)) => test::run(&arguments),
        Some(Task::Tidy(arguments)) => tidy::run(&arguments),
        Some(Task::Weight) => weight::run(),
        Some(Task::Api) => api::run(),
        Some(Task::Mutants(arguments)) => mutants::run(&arguments),
        Some(Task::Demo(arguments)) => demo::run(&arguments),
        Some(Task::Sim(arguments)) => sim::run(&arguments),
        Some(Task::Verdicts(arguments)) => verdicts::run(&arguments),
        Some(Task::Mixed(arguments)) => mixed::run(&arguments),
        Some(Task::Fuzz(arguments)) => fuzz::run(&arguments),
        Some(Task::Bench(arguments)) => bench::run(&arguments),
    }
}
