//! The console over a full queue: the time of each page, and what its open pages cost Redis.
//!
//! The program runs on one core; Redis and the plain HTTP client share the other one. One topic has all jobs: half of them are due, the others
//! are due tomorrow, and no consumer runs.

mod fill;
mod http;
mod pages;
mod polling;

use crate::pin;
use crate::program::{Program, built};
use crate::results::Keeper;
use crate::rounds::Plan;
use anyhow::Result;
use fill::fill;
use std::process::Command;
use testkit::servers::{Redis, RedisOptions};

const BENCH: &str = "console";
const TOPIC: &str = "mail";
/// Further topics, each with a few jobs.
const OTHER_TOPICS: usize = 20;

/// How much is in Redis.
#[derive(Clone, Copy)]
struct Size {
    jobs: usize,
    dead: usize,
}

pub(crate) fn run(plan: &Plan, keeper: &mut Keeper) -> Result<()> {
    pin::this_thread(pin::CLIENT_CORE)?;
    let size = if plan.quick { Size { jobs: 100_000, dead: 10_000 } } else { Size { jobs: 1_000_000, dead: 100_000 } };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let redis = Redis::start(RedisOptions::new()).await?;
        pin::process(redis.process_id(), pin::CLIENT_CORE)?;
        fill(&redis.url(), size).await?;
        let idle = if plan.asks_for("polling") { Some(polling::idle(plan, &redis).await?) } else { None };
        let mut command = Command::new(built("evenkeel")?);
        command.args(["serve", "--listen", "127.0.0.1:0", "--redis", &redis.url()]).env("RUST_LOG", "warn");
        let console = Program::start(command)?;
        if plan.asks_for("pages") {
            keeper.keep(pages::run(plan, &console.address, size).await?)?;
        }
        if let Some(idle) = idle {
            keeper.keep(polling::run(plan, &redis, &console.address, size, idle).await?)?;
        }
        Ok(())
    })
}
