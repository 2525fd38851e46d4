//! `evenkeel demo`: a console over a made-up shop at work, in this process: nothing has to be installed.
//!
//! * `shop` — the keel, the database, and what the shop opens.
//! * `events` — a stream of the events of orders, and its groups, one of which fails at times.
//! * `trade` — orders, readers of the cache, and what went wrong before it opened: a parked row, a parked message, a paused topic.
//! * `work` — the consumers, whose jobs succeed, fail, are retried and die, and the contended lock.

mod events;
mod shop;
mod trade;
mod work;

use crate::connect::exit_code;
use crate::console::{Console, Serving, Source};
use crate::database::Database;
use anyhow::Result;
use shop::Shop;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The time between two points of the charts, so that they move soon.
const STEP: Duration = Duration::from_secs(2);
/// How long the shop may take to close.
const CLOSE_MAX: Duration = Duration::from_secs(2);

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Address to listen on; it must be a loopback address
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8420")]
    listen: String,
    /// Require a login, to try the roles: the token file that `evenkeel token new` writes
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
}

pub(crate) async fn run(arguments: Arguments) -> ExitCode {
    exit_code(Box::pin(demo(&arguments)).await.map(|()| true), &[])
}

async fn demo(arguments: &Arguments) -> Result<()> {
    // Before the shop opens: handles of metrics are registered when a cache or a queue is opened.
    let console = Console::bind(Serving::on(&arguments.listen, arguments.tokens.clone())).await?;
    let shop = Arc::new(Shop::open().await?);
    // After the shop has opened, so that the log does not begin with the creation of its tables.
    let telemetry = console.start_telemetry()?;
    let source = Source::named("demo", shop.keel.clone(), Some(Database::Sqlite(shop.db.clone())));
    eprintln!("A made-up shop is at work. Open the address in a browser; Ctrl-C ends it, and nothing is kept.");
    let (stop, stopped) = watch::channel(false);
    let tasks = shop.run(&stopped);
    let served = console.serve(source, STEP, telemetry).await;
    stop.send_replace(true);
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    shop.keel.shutdown(CLOSE_MAX).await;
    served
}
