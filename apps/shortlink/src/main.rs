//! The program `shortlink`; everything is in the library beside it, where tests reach it.

use std::process::ExitCode;

fn main() -> ExitCode {
    shortlink::command::main()
}
