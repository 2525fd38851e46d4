//! The commands of the program. An error at the start is one line on standard error and exit code 2.

mod load;
mod open;
mod serve;

use crate::config::{Command, Config, Flags};
use anyhow::Result;
use std::process::ExitCode;

/// Exit code of a load in which a strategy broke the rule.
const RULE_BROKEN: u8 = 1;

/// Runs the program.
#[must_use]
pub fn main() -> ExitCode {
    web::program::main("stockroom", run)
}

fn run(flags: Flags) -> Result<ExitCode> {
    let Flags { servers, http, stock, command } = flags;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match command {
        None => runtime.block_on(serve::serve(Config::resolve(&servers, &http, &stock)?))?,
        Some(Command::Serve { http, stock }) => {
            runtime.block_on(serve::serve(Config::resolve(&servers, &http, &stock)?))?;
        }
        Some(Command::Load(flags)) => {
            let is_sound = runtime.block_on(load::run(flags, &servers))?;
            return Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::from(RULE_BROKEN) });
        }
    }
    Ok(ExitCode::SUCCESS)
}
