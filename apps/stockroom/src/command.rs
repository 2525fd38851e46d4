//! What the program does with its arguments. Whatever goes wrong at the start is one sentence on standard error and exit code 2.

mod load;
mod open;
mod serve;

use crate::config::{Command, Config, Flags};
use anyhow::Result;
use clap::Parser;
use std::process::ExitCode;
use web::program::{WRONG, refused};

/// Exit code of a load that found a strategy to break the rule: a script must not take it for a success.
const VIOLATED: u8 = 1;

/// Runs the program.
#[must_use]
pub fn main() -> ExitCode {
    let flags = match Flags::try_parse() {
        Ok(flags) => flags,
        Err(error) => return refused("stockroom", &error),
    };
    match run(flags) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("stockroom: {error:#}");
            ExitCode::from(WRONG)
        }
    }
}

fn run(flags: Flags) -> Result<ExitCode> {
    let Flags { place, serving, stocking, command } = flags;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match command {
        None => runtime.block_on(serve::serve(Config::resolve(&place, &serving, &stocking)?))?,
        Some(Command::Serve { serving, stocking }) => {
            runtime.block_on(serve::serve(Config::resolve(&place, &serving, &stocking)?))?;
        }
        Some(Command::Load(flags)) => {
            let is_sound = runtime.block_on(load::run(flags, &place))?;
            return Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::from(VIOLATED) });
        }
    }
    Ok(ExitCode::SUCCESS)
}
