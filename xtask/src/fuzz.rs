//! `cargo xtask fuzz`: damaged bytes for everything that parses bytes. Its program is `fuzz/`.

use crate::shell::{self, cargo};
use anyhow::Result;
use std::process::Command;

/// What `fuzz` was asked for.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Arguments {
    /// What to feed, and for how long: passed on (`--help` lists it)
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    // With the whole workspace in view, so that what the tests have built is built already.
    shell::run_silently(&mut cargo(&["build", "--quiet", "--workspace", "--bin", "evenkeel-fuzz"]))?;
    shell::run_silently(Command::new(shell::target()?.join("debug/evenkeel-fuzz")).args(&arguments.words))
}

/// The short form, for every test run.
pub(crate) fn briefly() -> Result<()> {
    run(&Arguments { words: ["--seconds", "3"].map(str::to_owned).to_vec() })
}
