//! Locks: uncontended, handed over to waiters, and renewed by the thousand, compared with the minimal commands of a lock, with rslock, and
//! with redis-py. The server runs on one core, one client on another; ours and the peer alternate on the same server.

mod hand_over;
mod ours;
mod pairs;
mod peers;
mod raw;
mod renewals;

use crate::pin;
use crate::results::Keeper;
use crate::rounds::Plan;
use crate::row::Row;
use anyhow::Result;
use ours::Ours;
use peers::Peer;
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};

pub(crate) use peers::versions;

const BENCH: &str = "lock";
/// Most that wait at once.
const WAITERS_MAX: usize = 100;
/// The TTL of locks that need no renewal during the benchmark.
const TTL: Duration = Duration::from_secs(30);

/// One Redis, and its clients.
pub(crate) struct Stand {
    redis: Redis,
    ours: Ours,
    peers: Vec<Peer>,
}

pub(crate) fn run(plan: &Plan, keeper: &mut Keeper) -> Result<()> {
    pin::this_thread(pin::CLIENT_CORE)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let redis = Redis::start(RedisOptions::new()).await?;
        pin::process(redis.process_id(), pin::SERVER_CORE)?;
        let ours = Ours::open(&redis.url(), WAITERS_MAX).await?;
        let (peers, absent) = peers::start(&redis.url());
        let stand = Stand { redis, ours, peers };
        keeper.keep(gathered("acquired and released", pairs::run(plan, &stand).await))?;
        keeper.keep(gathered("handed over", hand_over::run(plan, &stand).await))?;
        keeper.keep(gathered("renewed", renewals::run(plan, &stand).await))?;
        keeper.keep(absent)
    })
}

/// What one part has measured. Another one's processes may fail, and the rest counts nevertheless.
fn gathered(part: &str, measured: Result<Vec<Row>>) -> Vec<Row> {
    measured.unwrap_or_else(|error| vec![Row::absent(BENCH, &format!("{part} ({error:#})"))])
}
