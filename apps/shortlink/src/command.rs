//! The commands of the program. An error at the start is one sentence on standard error and exit code 2.

mod degraded;
mod export;
mod import;
mod open;
mod prefix_record;
mod serve;

use crate::config::{Command, Config, Flags};
use anyhow::Result;
use std::process::ExitCode;

/// Exit code of an import that rejected lines, so that a script does not take it for a success.
const REJECTED: u8 = 1;

/// Runs the program.
#[must_use]
pub fn main() -> ExitCode {
    web::program::main("shortlink", run)
}

fn run(flags: Flags) -> Result<ExitCode> {
    let Flags { common, serve, command } = flags;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match command {
        None => runtime.block_on(serve::serve(Config::resolve(&common, &serve)?))?,
        Some(Command::Serve(serve)) => runtime.block_on(serve::serve(Config::resolve(&common, &serve)?))?,
        Some(Command::Import(flags)) => {
            let rejected = runtime.block_on(import::run(flags, &common, &serve))?.rejected;
            return Ok(if rejected == 0 { ExitCode::SUCCESS } else { ExitCode::from(REJECTED) });
        }
        Some(Command::Export(flags)) => runtime.block_on(export::run(flags, &common, &serve))?,
    }
    Ok(ExitCode::SUCCESS)
}
