//! `cargo xtask fuzz`: builds the fuzzer in `fuzz/` and runs it.

use crate::shell::{self, cargo};
use anyhow::Result;
use std::process::Command;

#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Arguments {
    /// Arguments of the fuzzer (`--help` lists them)
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    shell::run_silently(&mut cargo(&["build", "--quiet", "--workspace", "--bin", "evenkeel-fuzz"]))?;
    feed(&arguments.words)
}

/// Runs each target for three seconds, as part of every test run, which has built the fuzzer with its tests.
pub(crate) fn briefly() -> Result<()> {
    feed(&["--seconds", "3"].map(str::to_owned))
}

fn feed(words: &[String]) -> Result<()> {
    shell::run_silently(Command::new(shell::target()?.join("debug/evenkeel-fuzz")).args(words))
}
