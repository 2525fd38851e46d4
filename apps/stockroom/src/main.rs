//! The program `stockroom`. Its code is in the library, where tests reach it.

use std::process::ExitCode;

fn main() -> ExitCode {
    stockroom::command::main()
}
