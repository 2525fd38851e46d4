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
    // With the features of the whole workspace, so that the dependencies that the tests have built are reused.
    shell::run_silently(&mut cargo(&["build", "--quiet", "--workspace", "--bin", "evenkeel-fuzz"]))?;
    shell::run_silently(Command::new(shell::target()?.join("debug/evenkeel-fuzz")).args(&arguments.words))
}

/// Runs each target for three seconds, as part of every test run.
pub(crate) fn briefly() -> Result<()> {
    run(&Arguments { words: ["--seconds", "3"].map(str::to_owned).to_vec() })
}
