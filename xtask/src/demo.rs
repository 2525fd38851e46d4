//! `cargo xtask demo NAME`: demonstrations.

use crate::shell::{self, cargo};
use anyhow::Result;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    name: Name,
}

#[derive(clap::Subcommand)]
enum Name {
    /// Count the stale reads of hand-made caches, published protocols and the fenced cache, under the same schedules
    Stale {
        /// Seed of the random schedule
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Print one JSON object per row
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let Name::Stale { seed, json } = arguments.name;
    let (seed, shape) = (seed.to_string(), if json { "json" } else { "text" });
    let program = ["run", "--quiet", "--package", "evenkeel-testkit", "--"];
    shell::run_silently(&mut cargo(&[&program[..], &["demo", "stale", &seed, shape]].concat()))
}
