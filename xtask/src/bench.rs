//! `cargo xtask bench NAME`: builds the program in `bench/` with optimizations and runs it.

use crate::shell::{self, cargo};
use anyhow::Result;

#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Arguments {
    /// Arguments of the benchmark program (`--help` lists them)
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    for (bench, package) in [("shortlink", "shortlink"), ("console", "evenkeel-server")] {
        if arguments.words.iter().any(|word| word == bench) {
            shell::run_silently(&mut cargo(&["build", "--release", "--quiet", "--package", package]))?;
        }
    }
    let mut command = cargo(&["run", "--release", "--quiet", "--package", "evenkeel-bench", "--"]);
    command.args(&arguments.words);
    shell::run_silently(&mut command)
}
