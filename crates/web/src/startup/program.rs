//! The program's first output: usage errors and the address it listens on.

use clap::Parser;
use clap::error::ErrorKind;
use std::io::Write;
use std::process::ExitCode;

/// Parses the flags of `program`, runs it, and prints the error if it cannot start.
pub fn main<F: Parser>(program: &str, run: impl FnOnce(F) -> anyhow::Result<ExitCode>) -> ExitCode {
    match F::try_parse().map(run) {
        Err(error) => usage_error(program, &error),
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            eprintln!("{program}: {error:#}");
            ExitCode::from(EXIT_NOT_STARTED)
        }
    }
}

/// Exit code of a program that could not start: a wrong flag or setting, a folder, a port, a server.
const EXIT_NOT_STARTED: u8 = 2;

/// Prints `--help` and `--version`, or a usage error in one line, and returns the exit code.
fn usage_error(program: &str, error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // Standard output may be closed.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let text = error.to_string();
    // clap's message is the first paragraph; usage and hints follow.
    let paragraph = text.split("\n\n").next().unwrap_or(&text);
    let sentence = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    eprintln!("{program}: {}; see {program} --help", sentence.trim_start_matches("error: "));
    ExitCode::from(EXIT_NOT_STARTED)
}

/// Prints the address, the only line on standard output, which scripts wait for.
pub fn announce(url: &str) {
    let mut out = std::io::stdout().lock();
    // The service runs even if standard output is closed.
    let _ = writeln!(out, "listening on {url}").and_then(|()| out.flush());
}
