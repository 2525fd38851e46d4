//! `evenkeel doctor URL...`: prints one line per check, with a remedy if the check fails.
//!
//! The checks leave nothing behind: they write a Redis key that expires after two seconds, delete the libraries of functions that they have
//! loaded, and write nothing into a database.

mod mysql;
mod permissions;
mod postgres;
mod reach;
mod redis;
mod report;
mod sqlite;
mod uses;

pub(crate) use report::{Check, Server, Verdict};

use crate::address::{Address, Kind};
use crate::database::Database;
use evenkeel::sql::SqlError;
use report::Report;
use sqlx::{ColumnIndex, ConnectOptions, Decode, Row, Type};
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
            if arguments.json {
                // As every other outcome, one object.
                let _ = writeln!(std::io::stdout(), "{}", serde_json::json!({ "error": message }));
            } else {
                eprintln!("{message}");
            }
            return ExitCode::from(NOT_CHECKED);
        }
    };
    let mut report = Report::default();
    for address in &addresses {
        report.servers.push(examine(address).await);
    }
    report.compare();
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

/// Connects to a database and reports that, or the cause of a failure; `None` if it failed.
async fn connect<O: ConnectOptions>(address: &Address, server: &mut Server) -> Option<O::Connection>
where
    O::Connection: Sized,
{
    let connected = match O::from_str(&address.url) {
        Ok(options) => tokio::time::timeout(CONNECT_MAX, options.connect()).await,
        Err(error) => Ok(Err(error)),
    };
    match connected {
        Ok(Ok(connection)) => {
            server.reached = true;
            server.ok("connect", "connected");
            return Some(connection);
        }
        Ok(Err(error)) => reach::of_database(address, server, error),
        Err(_) => server.fail("connect", format!("no connection within {CONNECT_MAX:?}"), reach::UNREACHABLE),
    }
    None
}

/// The columns of a row, each of which is text. One that cannot be read is a warning, and `None`: nothing is assumed in its place.
fn texts<R, const N: usize>(row: &R, names: [&str; N], server: &mut Server) -> [Option<String>; N]
where
    R: Row,
    usize: ColumnIndex<R>,
    for<'r> String: Decode<'r, R::Database> + Type<R::Database>,
{
    let mut columns = 0..N;
    names.map(|name| {
        let value = row.try_get::<String, _>(columns.next().unwrap_or(N));
        let unreadable =
            |error| server.warn("settings", format!("cannot read {name}: {error}"), "check it on the server");
        value.map_err(unreadable).ok()
    })
}

/// All checks of one server.
pub(crate) async fn examine(address: &Address) -> Server {
    let mut server = Server::new(address);
    if let Some(unreadable) = address.unreadable_file() {
        server.fail("address", unreadable, "correct the address, or allow this user to read the file");
        return server;
    }
    match address.kind {
        Kind::Redis => redis::examine(address, &mut server).await,
        Kind::MySql => mysql::examine(address, &mut server).await,
        Kind::Postgres => postgres::examine(address, &mut server).await,
        Kind::Sqlite => sqlite::examine(address, &mut server).await,
    }
    server
}

/// Whether the library's tables are those of this version.
async fn schema(address: &Address, server: &mut Server) {
    let checked = match Database::connect(address).await {
        Ok(database) => database.check_schema().await,
        Err(error) => return server.fail("schema", address.without_secrets(&error.to_string()), reach::UNREACHABLE),
    };
    let Err(error) = checked else { return server.ok("schema", "the tables are those of this version") };
    let text = error.to_string();
    // Both errors about versions end with what to do.
    let (found, remedy) = text.split_once(": ").unwrap_or((&text, ""));
    match error {
        SqlError::NotMigrated => server.ok("schema", "no tables yet: a service creates them when it starts"),
        SqlError::OlderSchema { .. } => server.warn("schema", found, remedy),
        SqlError::NewerSchema { .. } => server.fail("schema", found, remedy),
        _ => server.fail("schema", text, "correct what the message names"),
    }
}
