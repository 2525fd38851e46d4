//! `evenkeel token new`: creates a token for the login of the console.

use super::rights::Role;
use super::security::tokens::Tokens;
use crate::connect::exit_code;
use crate::output::write;
use anyhow::Result;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Create a token, print it once, and keep its hash in the token file
    New {
        /// Who gets the token; the audit log shows this name
        name: String,
        /// Role
        #[arg(long, value_enum, default_value = "viewer")]
        role: Role,
        /// The token file; it is created with mode 0600
        #[arg(long, value_name = "FILE")]
        tokens: PathBuf,
    },
}

pub(crate) fn run(command: &Command) -> ExitCode {
    let Command::New { name, role, tokens } = command;
    let made: Result<bool> =
        Tokens::add(tokens, name, *role).and_then(|token| write(&format!("{token}\n"))).map(|()| true);
    exit_code(made, &[])
}
