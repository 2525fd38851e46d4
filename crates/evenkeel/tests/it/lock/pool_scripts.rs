//! The pools' conformance suite on Redis.

use anyhow::{Context, Result};
use evenkeel::clock::Clock;
use evenkeel::link::{Link, LinkOptions};
use evenkeel_protocol::lock::pool::steps::Inspect;
use testkit::conformance::pool::{Rig, permits, polling, waiting};
use testkit::servers::{Redis, RedisOptions};

testkit::pool_suite!(Rig::redis);

/// How often Redis has run a command.
async fn calls(redis: &Redis, command: &str) -> Result<u64> {
    let stats: String = redis.command(&["INFO", "commandstats"]).await?;
    let line = stats.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
    Ok(line.and_then(|line| line.split(',').next()).map_or(0, |calls| calls.parse().unwrap_or(0)))
}

/// The cost of a second of waiting grew with the square of the number of waiters: each poll read the places of all.
// shows: K8, hazard BL2
#[tokio::test]
async fn polls_of_many_waiters_read_the_pool_once() -> Result<()> {
    const WAITERS: u8 = 200;
    let redis = Redis::start(RedisOptions::new()).await?;
    let link = Link::connect(LinkOptions::from_url(&redis.url())?, Clock::system()).await?;
    let rig = Rig::over(link).await?;
    rig.sit(&permits(255, 3)).await?;
    for number in 1..=WAITERS {
        rig.full_for(&waiting(permits(number, 1))).await?;
    }
    let before = (calls(&redis, "hgetall").await?, calls(&redis, "hmget").await?);
    for number in 1..=WAITERS {
        rig.pools.run(&rig.desks, &polling(permits(number, 1))).await?;
    }
    let after = (calls(&redis, "hgetall").await?, calls(&redis, "hmget").await?);
    assert_eq!((after.0 - before.0, after.1 - before.1), (1, u64::from(WAITERS)));
    let state = rig.pools.run(&rig.desks, &Inspect).await?.context("the semaphore is in use")?;
    assert_eq!(state.waiting, u64::from(WAITERS));
    Ok(())
}
