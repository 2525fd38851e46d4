//! The program `shortlink`: a thin wrapper around the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    shortlink::command::main()
}
