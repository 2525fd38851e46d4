//! `evenkeel doctor URL...`: prints one line per check, with a remedy if the check fails.
//!
//! The checks leave nothing behind: they write a Redis key that expires after two seconds, and a temporary table per database.

mod mysql;
mod permissions;
mod postgres;
mod redis;
mod report;

mod sqlite;

pub(crate) use report::{Check, Server, Verdict};

use crate::address::{Address, Kind};
use report::Report;
use sqlx::{ConnectOptions, Database, Executor, IntoArguments};
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

/// Exit code for invalid input or an unreachable server: the checks could not run.
const NOT_CHECKED: u8 = 2;

/// How long connecting to one server may take.
const CONNECT_MAX: Duration = Duration::from_secs(5);

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Servers to check: redis://, rediss://, mysql://, postgres:// or sqlite:
    #[arg(required = true, value_name = "URL")]
    urls: Vec<String>,
    /// Print the report as one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(arguments: &Arguments) -> ExitCode {
    let addresses: Result<Vec<Address>, String> =
        arguments.urls.iter().enumerate().map(|(index, url)| Address::read(index + 1, url)).collect();
    let addresses = match addresses {
        Ok(addresses) => addresses,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(NOT_CHECKED);
        }
    };
    let mut report = Report::default();
    for address in &addresses {
        report.servers.push(examine(address).await);
    }
    let text = if arguments.json { report.json() } else { report.to_string() };
    // The reader may have closed the pipe (`| head`); the exit code is still set.
    let _ = std::io::stdout().write_all(text.as_bytes());
    if report.servers.iter().any(|server| !server.reached) {
        ExitCode::from(NOT_CHECKED)
    } else if report.count(Verdict::Fail) > 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// Connects to a database and reports that; `None` if it failed.
async fn connect<O: ConnectOptions>(address: &Address, server: &mut Server) -> Option<O::Connection>
where
    O::Connection: Sized,
{
    let connected = match O::from_str(&address.url) {
        Ok(options) => tokio::time::timeout(CONNECT_MAX, options.connect()).await,
        Err(error) => Ok(Err(error)),
    };
    let error = match connected {
        Ok(Ok(connection)) => {
            server.reached = true;
            server.ok("connect", "connected");
            return Some(connection);
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no connection within {CONNECT_MAX:?}"),
    };
    server.fail("connect", address.without_secrets(&error), "start the server, or correct the address");
    None
}

/// All checks of one server.
pub(crate) async fn examine(address: &Address) -> Server {
    let mut server = Server::new(address);
    match address.kind {
        Kind::Redis => redis::examine(address, &mut server).await,
        Kind::MySql => mysql::examine(address, &mut server).await,
        Kind::Postgres => postgres::examine(address, &mut server).await,
        Kind::Sqlite => sqlite::examine(address, &mut server).await,
    }
    server
}

/// Runs `statements`, which write and leave nothing behind. `done` says what they did, `remedy` what this user lacks if one fails.
async fn write_permissions<DB: Database>(
    server: &mut Server,
    connection: &mut DB::Connection,
    statements: &[&'static str],
    done: &str,
    remedy: &str,
) where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
    DB::Arguments: IntoArguments<DB>,
{
    for statement in statements {
        if let Err(error) = sqlx::query(*statement).execute(&mut *connection).await {
            return server.fail("permissions", error.to_string(), remedy);
        }
    }
    server.ok("permissions", done);
}
