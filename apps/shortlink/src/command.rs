//! What the program does with its arguments. Whatever goes wrong at the start is one sentence on standard error and exit code 2.

mod export;
mod folder;
mod import;
mod open;
mod serve;

use crate::config::{Command, Config, Flags};
use anyhow::Result;
use clap::Parser;
use clap::error::ErrorKind;
use std::process::ExitCode;

/// Exit code for what the caller can mend: a flag, a folder, a port, a server.
const WRONG: u8 = 2;

/// Exit code of an import that is complete but for lines it rejected: a script must not take it for a success.
const REJECTED: u8 = 1;

/// Runs the program.
#[must_use]
pub fn main() -> ExitCode {
    let flags = match Flags::try_parse() {
        Ok(flags) => flags,
        Err(error) => return refused(&error),
    };
    match run(flags) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("shortlink: {error:#}");
            ExitCode::from(WRONG)
        }
    }
}

fn run(flags: Flags) -> Result<ExitCode> {
    let Flags { place, serving, command } = flags;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match command {
        None => runtime.block_on(serve::serve(Config::resolve(&place, &serving)?))?,
        Some(Command::Serve(serving)) => runtime.block_on(serve::serve(Config::resolve(&place, &serving)?))?,
        Some(Command::Import(flags)) => {
            let rejected = runtime.block_on(import::run(flags, &place))?.rejected;
            return Ok(if rejected == 0 { ExitCode::SUCCESS } else { ExitCode::from(REJECTED) });
        }
        Some(Command::Export(flags)) => runtime.block_on(export::run(flags, &place))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// `--help` and `--version` are answers; anything else is a mistake, told in one sentence.
fn refused(error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // Nothing can be done if standard output is closed.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let text = error.to_string();
    // clap's explanation is its first paragraph; usage and hints follow.
    let paragraph = text.split("\n\n").next().unwrap_or(&text);
    let sentence = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    eprintln!("shortlink: {}; see shortlink --help", sentence.trim_start_matches("error: "));
    ExitCode::from(WRONG)
}
