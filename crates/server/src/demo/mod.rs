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

use crate::address::Address;
use crate::connect::{exit_code, redis_address};
use crate::console::{Console, Serving, Source};
use crate::database::Database;
use anyhow::{Result, ensure};
use evenkeel::Keel;
use shop::Shop;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use url::Url;
use web::telemetry;

/// The time between two points of the charts, so that they move soon.
const STEP: Duration = Duration::from_secs(2);
/// How long the shop may take to close.
const CLOSE_MAX: Duration = Duration::from_secs(2);
/// What is logged without `--verbose`: not what goes wrong in the shop, which is made up and on the pages.
const QUIET: &str = "warn,evenkeel::queue::consume=off,evenkeel::stream::consume=off,evenkeel::sql::relay=off";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Address to listen on; it must be a loopback address
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8420")]
    listen: String,
    /// Require a login, to try the roles: the token file that `evenkeel token new` writes
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// Keep the queues, streams, caches and locks on this Redis, so that the other commands reach them with the same --redis; their keys are left
    /// there. Example: redis://127.0.0.1:6379?prefix=demo
    #[arg(long, value_name = "URL")]
    redis: Option<String>,
    /// Log what the shop does: its consumers, and the handlers that fail
    #[arg(long)]
    verbose: bool,
}

pub(crate) async fn run(arguments: Arguments) -> ExitCode {
    let redis = match arguments.redis.as_deref().map(own_prefix).transpose() {
        Ok(redis) => redis,
        Err(error) => return exit_code(Err(error), &[]),
    };
    let served = Box::pin(demo(&arguments, redis.as_ref())).await;
    exit_code(served.map(|()| true), &redis.iter().collect::<Vec<_>>())
}

/// The address of a Redis with a prefix, so that the shop touches nothing else there.
fn own_prefix(url: &str) -> Result<Address> {
    let address = redis_address(Some(url))?;
    let has_prefix = Url::parse(url)?.query_pairs().any(|(name, prefix)| name == "prefix" && !prefix.is_empty());
    ensure!(has_prefix, "the shop needs a prefix of its own on a Redis: add ?prefix=demo to --redis");
    Ok(address)
}

async fn demo(arguments: &Arguments, redis: Option<&Address>) -> Result<()> {
    // Before the shop opens: handles of metrics are registered when a cache or a queue is opened.
    let console = Console::bind(Serving::on(&arguments.listen, arguments.tokens.clone())).await?;
    let keel = match redis {
        Some(redis) => Keel::connect(&redis.url).await?,
        None => Keel::memory(),
    };
    let shop = Arc::new(Shop::open(keel).await?);
    // After the shop has opened, so that the log does not begin with the creation of its tables.
    let telemetry = console.start_telemetry(if arguments.verbose { telemetry::LOG } else { QUIET })?;
    let source = Source::named("demo", shop.keel.clone(), Some(Database::Sqlite(shop.db.clone())));
    let source = source.at(redis.cloned().into_iter());
    let kept = if redis.is_some() { "its keys stay on the Redis" } else { "nothing is kept" };
    eprintln!("A made-up shop is at work. Open the address in a browser; Ctrl-C ends it, and {kept}.");
    let (stop, stopped) = watch::channel(false);
    let tasks = shop.run(&stopped);
    let served = console.serve(source, STEP, telemetry).await;
    stop.send_replace(true);
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    shop.keel.shutdown(CLOSE_MAX).await;
    served
}
