//! How many commands a step runs in Redis: most of its time. docs/spec/link.md has the same numbers.

use anyhow::{Result, ensure};
use bytes::Bytes;
use evenkeel::Token;
use evenkeel::clock::Clock;
use evenkeel::link::{Link, LinkOptions};
use evenkeel_protocol::lock::RedisLock;
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::steps::{Acquire, Acquired, LockSteps, Release};
use evenkeel_protocol::queue::steps::{Enqueue, NewJob, Outcome, SettleAndClaim, When};
use testkit::conformance::cache::OnRedis;
use testkit::conformance::cache::player::Player;
use testkit::conformance::limit;
use testkit::conformance::queue::{Consumer, Rig, job};
use testkit::servers::{Redis, RedisOptions};
use testkit::{CommandTrace, step_command};

/// A server whose commands are traced.
pub(crate) struct Traced {
    pub(crate) redis: Redis,
    pub(crate) trace: CommandTrace,
}

impl Traced {
    pub(crate) async fn start() -> Result<Self> {
        let redis = Redis::start(RedisOptions::new()).await?;
        let trace = CommandTrace::start(&redis).await?;
        Ok(Self { redis, trace })
    }

    /// Forgets what was traced.
    async fn forget(&mut self) -> Result<()> {
        self.trace.take(&self.redis).await.map(drop)
    }

    /// Checks that one step was called since, and ran at most this many commands.
    async fn at_most(&mut self, step: &str, commands: usize) -> Result<()> {
        let trace = self.trace.take(&self.redis).await?;
        ensure!(trace.from_clients().names() == [step_command()], "{step}: {:?}", trace.from_clients().names());
        let names: Vec<&str> = trace.0.iter().filter(|ran| ran.from_script).map(|ran| ran.name.as_str()).collect();
        ensure!(names.len() <= commands, "{step} runs {} commands: {names:?}", names.len());
        Ok(())
    }
}

#[tokio::test]
async fn queue_runs_few_commands_a_job() -> Result<()> {
    let mut traced = Traced::start().await?;
    traced.redis.command::<()>(&["SET", "ek:test:now_ms", "1700000000000"]).await?;
    let rig = Rig::on(&traced.redis.url(), "ek").await?;
    let mut consumer = Consumer::default();
    rig.given(&[job("first"), job("second"), job("third")]).await?;
    let held = rig.claim_one(&mut consumer).await?;
    traced.forget().await?;
    rig.enqueue(job("a")).await?;
    traced.at_most("enqueue", 7).await?;
    rig.run(&Enqueue(vec![NewJob { when: When::In(60_000), ..job("later") }])).await?;
    traced.at_most("enqueue later, behind due jobs", 9).await?;
    let settlements = vec![(held.receipt, Outcome::Done)];
    rig.settle_and_claim(&SettleAndClaim { settlements, ..consumer.call(0) }).await?;
    traced.at_most("settle_and_claim that settles", 8).await?;
    let held = rig.claim_one(&mut consumer).await?;
    traced.at_most("settle_and_claim that claims, and leaves jobs", 12).await?;
    let settlements = vec![(held.receipt, Outcome::Done)];
    rig.settle_and_claim(&SettleAndClaim { settlements, ..consumer.call(1) }).await?;
    traced.at_most("settle_and_claim that settles and claims, and leaves jobs", 15).await?;
    rig.claim_one(&mut consumer).await?;
    traced.at_most("settle_and_claim that claims the last due job", 11).await
}

#[tokio::test]
async fn lock_runs_few_commands() -> Result<()> {
    let mut traced = Traced::start().await?;
    let link = Link::connect(
        LinkOptions::from_url(&traced.redis.url())?.with_scripts(evenkeel_protocol::lock::redis::scripts()),
        Clock::system(),
    )
    .await?;
    traced.redis.command::<()>(&["SET", "evenkeel:test:now_ms", "1700000000000"]).await?;
    let (locks, name) = (RedisLock::new(link), LockName::new("stock/42")?);
    let (owner, process) = (Token::random(), Token::random());
    let call = Acquire {
        owner,
        process,
        lease_ms: 30_000,
        cooling_ms: 0,
        hold_ms_max: None,
        fence_floor: 0,
        waits: true,
        metadata: Bytes::new(),
    };
    traced.forget().await?;
    for round in 0..2 {
        let acquired = locks.acquire(&name, &call).await?;
        ensure!(matches!(acquired, Acquired::Granted { .. }), "{acquired:?}");
        traced.at_most(&format!("acquire {round}"), 4).await?;
        locks.renew(&name, owner, 40_000).await?;
        traced.at_most("renew", 3).await?;
        locks.release(&name, Release { owner, process, waits: false }).await?;
        traced.at_most("release", 3).await?;
    }
    Ok(())
}

#[tokio::test]
async fn limit_runs_two_commands_a_level() -> Result<()> {
    let mut traced = Traced::start().await?;
    let scripts = evenkeel_protocol::limit::scripts().to_vec();
    let options = LinkOptions::from_url(&traced.redis.url())?.with_scripts(scripts);
    let limits = limit::Rig::over(Link::connect(options, Clock::system()).await?).await?;
    let one = limit::rate(1, 60_000, 1);
    for (quotas, commands, refused) in [(vec![one], 3, 2), (vec![one, limit::window(2, 60_000)], 5, 3)] {
        limits.time.advance(120_000).await?;
        traced.forget().await?;
        limits.debit(&quotas, 1, 0).await?;
        traced.at_most("debit that admits", commands).await?;
        limits.debit(&quotas, 1, 0).await?;
        traced.at_most("debit that refuses", refused).await?;
    }
    Ok(())
}

/// The payload does not pass through Lua: an invalidation reads and writes the header.
#[tokio::test]
async fn invalidation_runs_few_commands() -> Result<()> {
    let mut traced = Traced::start().await?;
    let redis = OnRedis::on(&traced.redis.url(), "evenkeel").await?;
    let cache = Player::new(&redis);
    cache.expire().await;
    traced.forget().await?;
    cache.expire().await;
    traced.at_most("invalidate without an entry", 2).await?;
    cache.load("value").await;
    traced.forget().await?;
    cache.expire().await;
    traced.at_most("invalidate", 3).await
}
