//! `cargo xtask demo NAME`: demonstrations that count instead of claiming.

use crate::shell::{self, cargo};
use anyhow::Result;

/// What `demo` was asked for.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    name: Name,
}

#[derive(clap::Subcommand)]
enum Name {
    /// Stale reads of caches by hand, of the published protocols and of the fenced cache, under the same schedules
    Stale {
        /// The seed of the random storm; the same seed repeats the same storm
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// One JSON object a row
        #[arg(long)]
        json: bool,
    },
}

/// Builds the demonstration and runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let Name::Stale { seed, json } = arguments.name;
    let (seed, shape) = (seed.to_string(), if json { "json" } else { "text" });
    let program = ["run", "--quiet", "--package", "evenkeel-testkit", "--"];
    shell::run_silently(&mut cargo(&[&program[..], &["demo", "stale", &seed, shape]].concat()))
}
