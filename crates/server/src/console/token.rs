//! `evenkeel token new`: creates a token for the login of the console, or an API key.

use super::rights::{Role, Scope};
use super::security::tokens::{Grant, Tokens};
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
        /// Role of a person; the default is viewer, unless there are scopes
        #[arg(long, value_enum, conflicts_with = "scope")]
        role: Option<Role>,
        /// A scope of a program's API key: read, bodies, operate, admin, enqueue:TOPIC, append:STREAM, work:TOPIC, lock:PREFIX, invalidate:CACHE; can be repeated
        #[arg(long)]
        scope: Vec<Scope>,
        /// Requests to the API per second, at most
        #[arg(long, value_name = "REQUESTS", value_parser = clap::value_parser!(u32).range(1..=100_000))]
        per_second: Option<u32>,
        /// The token file; it is created with mode 0600
        #[arg(long, value_name = "FILE")]
        tokens: PathBuf,
    },
}

pub(crate) fn run(command: &Command) -> ExitCode {
    let Command::New { name, role, scope, per_second, tokens } = command;
    let role = role.or(scope.is_empty().then_some(Role::Viewer));
    let grant = Grant { role, scopes: scope.clone(), per_second: *per_second };
    let made: Result<bool> =
        Tokens::add(tokens, name, grant).and_then(|token| write(&format!("{token}\n"))).map(|()| true);
    exit_code(made, &[])
}
