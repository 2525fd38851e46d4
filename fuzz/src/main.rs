//! `cargo xtask fuzz`: feeds damaged bytes to everything that parses bytes.
//!
//! Each case is made from one number: a valid input is taken and damaged at random. A target panics if the code under test
//! breaks a promise (or panics by itself); the case's number is printed then, and repeats it.

mod damage;
mod targets;

use anyhow::{Context, Result, bail};
use clap::Parser;
use std::panic::catch_unwind;
use std::time::{Duration, Instant};
use targets::{TARGETS, Target};

/// Feeds damaged bytes to everything that parses bytes.
#[derive(Parser)]
#[command(name = "fuzz", bin_name = "cargo xtask fuzz")]
struct Arguments {
    /// Only this target
    target: Option<String>,
    /// How long each target is fed
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Runs one case again
    #[arg(long, value_name = "NUMBER", requires = "target")]
    case: Option<u64>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let chosen: Vec<&Target> =
        TARGETS.iter().filter(|target| arguments.target.as_deref().is_none_or(|name| name == target.name)).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        bail!("there is no such target; there are {}", names.join(", "));
    }
    if let Some(case) = arguments.case {
        let target = chosen.first().context("a case belongs to a target")?;
        println!("{:?}", String::from_utf8_lossy(&damage::input(target.valid, case)));
        (target.feed)(&damage::input(target.valid, case));
        println!("{}: case {case} passes", target.name);
        return Ok(());
    }
    for target in chosen {
        run(target, Duration::from_secs(arguments.seconds))?;
    }
    Ok(())
}

fn run(target: &Target, span: Duration) -> Result<()> {
    let first: u64 = rand::random();
    let start = Instant::now();
    let mut count = 0_u64;
    while start.elapsed() < span {
        let case = first.wrapping_add(count);
        let input = damage::input(target.valid, case);
        if catch_unwind(|| (target.feed)(&input)).is_err() {
            bail!("{} breaks; this repeats it: cargo xtask fuzz {} --case {case}", target.name, target.name);
        }
        count += 1;
    }
    println!("{:<14} {count} cases, nothing broke (from {first})", target.name);
    Ok(())
}
