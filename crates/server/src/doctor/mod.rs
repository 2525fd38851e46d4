//! `evenkeel doctor URL...`: one line per check, and what to do where something is wrong.
//!
//! It writes nothing that stays: one Redis key that lives two seconds, one temporary table per database.

pub(crate) mod address;
mod mysql;
mod postgres;
mod redis;
mod report;
mod rights;
mod sqlite;

use address::{Address, Kind};
use report::{Report, Server};
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

/// Bad input, or a server that cannot be reached: nothing could be judged.
const NOT_JUDGED: u8 = 2;

/// How long one server may take to let us in.
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// What `doctor` was asked for.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Addresses: redis://, rediss://, mysql://, postgres:// or sqlite:
    #[arg(required = true, value_name = "URL")]
    urls: Vec<String>,
    /// Print one JSON object instead of lines
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(arguments: &Arguments) -> ExitCode {
    let addresses: Result<Vec<Address>, String> =
        arguments.urls.iter().enumerate().map(|(index, url)| Address::read(index + 1, url)).collect();
    let addresses = match addresses {
        Ok(addresses) => addresses,
        Err(sentence) => {
            eprintln!("{sentence}");
            return ExitCode::from(NOT_JUDGED);
        }
    };
    let mut report = Report::default();
    for address in &addresses {
        report.servers.push(examine(address).await);
    }
    let text = if arguments.json { report.json() } else { report.to_string() };
    // Whoever reads may have gone (`| head`); the exit code still tells.
    let _ = std::io::stdout().write_all(text.as_bytes());
    if report.servers.iter().any(|server| !server.reached) {
        ExitCode::from(NOT_JUDGED)
    } else if report.count(report::Verdict::Fail) > 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

async fn examine(address: &Address) -> Server {
    let mut server = Server::new(address);
    match address.kind {
        Kind::Redis => redis::examine(address, &mut server).await,
        Kind::MySql => mysql::examine(address, &mut server).await,
        Kind::Postgres => postgres::examine(address, &mut server).await,
        Kind::Sqlite => sqlite::examine(address, &mut server).await,
    }
    server
}
