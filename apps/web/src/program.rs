//! How a program begins to talk: what is wrong with its arguments, where it listens, what it logs.

use clap::error::ErrorKind;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

/// Exit code for what the caller can mend: a flag, a folder, a port, a server.
pub const WRONG: u8 = 2;

/// `--help` and `--version` are answers; anything else is a mistake, told in one sentence.
#[must_use]
pub fn refused(program: &str, error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // Nothing can be done if standard output is closed.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let text = error.to_string();
    // clap's explanation is its first paragraph; usage and hints follow.
    let paragraph = text.split("\n\n").next().unwrap_or(&text);
    let sentence = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    eprintln!("{program}: {}; see {program} --help", sentence.trim_start_matches("error: "));
    ExitCode::from(WRONG)
}

/// The first line on standard output, which scripts wait for.
pub fn announce(url: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody may be listening to us; we serve all the same.
    let _ = writeln!(out, "listening on {url}").and_then(|()| out.flush());
}

/// Standard output has the one line that scripts wait for; everything else goes to standard error. `RUST_LOG` chooses how much.
pub fn log_to_stderr() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    // Fails only if this process logs already, which is as good.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .try_init();
}
