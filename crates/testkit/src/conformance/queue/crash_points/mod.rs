//! Every point at which a process can lose its connection: the proxy cuts it before each command of a scenario (the server
//! never saw it) and before each reply (it happened, and the client does not know).
//!
//! A process that dies there leaves its work to a fresh one, which drains the shard: nothing accepted is lost, nothing settled
//! comes back, nothing revoked starts. A process that lives and repeats the call ends where it would have ended without the cut.

mod drain;
mod ledger;
mod process;
mod scenario;

use super::invariants;
use super::rig::Rig;
use crate::conformance::rig::ServerTime;
use crate::proxy::Proxy;
use crate::servers::{Redis, RedisOptions};
use anyhow::{Context, Result, bail, ensure};
use drain::Rest;
use evenkeel::clock::Clock;
use evenkeel::link::{Link, LinkOptions};
use evenkeel_protocol::queue::QueueBackend;
use ledger::Ledger;
use process::Process;
use std::time::Duration;

/// What the process does that lost its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterTheCut {
    /// It ends; a fresh process takes over.
    Dies,
    /// It connects again and repeats the call whose answer it has not.
    Repeats,
}

/// Where the connection is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    BeforeCommand(u64),
    BeforeReply(u64),
}

/// Plays the scenario once for every cut; returns how many cuts there were.
///
/// # Errors
/// The first cut after which something was lost, came back, started too early or twice, or left keys out of order.
pub async fn enumerate(after: AfterTheCut) -> Result<usize> {
    let stage = Stage::set().await?;
    // The first run loads the scripts; a run without a cut says how many commands there are and where everything ends.
    stage.play(AfterTheCut::Dies, None).await.context("without a cut")?;
    let (whole, commands) = stage.play(AfterTheCut::Dies, None).await.context("without a cut")?;
    ensure!(whole.delivered.is_empty(), "the scenario leaves work behind: {:?}", whole.delivered.keys());
    let cuts = (1..=commands).flat_map(|number| [Cut::BeforeCommand(number), Cut::BeforeReply(number)]);
    let mut points = 0;
    for cut in cuts {
        let (rest, _) =
            stage.play(after, Some(cut)).await.with_context(|| format!("{cut:?} of {commands}, {after:?}"))?;
        if after == AfterTheCut::Repeats {
            let (ours, expected) = (rest.summary(), whole.summary());
            ensure!(ours == expected, "{cut:?}, repeated, ends elsewhere:\n{ours}\ninstead of\n{expected}");
        }
        points += 1;
    }
    Ok(points)
}

/// The Redis, the proxy in front of it, and a connection that is never cut, for the clock and the checks.
struct Stage {
    redis: Redis,
    proxy: Proxy,
    direct: Link,
}

impl Stage {
    async fn set() -> Result<Self> {
        let redis = Redis::start(RedisOptions::new()).await?;
        let proxy = Proxy::start(redis.port(), 1).await?;
        let direct = connect(&redis.url()).await?;
        Ok(Self { redis, proxy, direct })
    }

    /// One run of the scenario on an empty Redis: what is left of it after a fresh process drained the shard, and how many
    /// commands it took.
    async fn play(&self, after: AfterTheCut, cut: Option<Cut>) -> Result<(Rest, u64)> {
        self.direct.command(b"", &redis::cmd("FLUSHALL")).await?;
        let rig = Rig::over(self.direct.clone(), "cuts").await?;
        let cuts_before = self.proxy.counters().cut;
        self.proxy.forget_commands();
        match cut {
            Some(Cut::BeforeCommand(number)) => self.proxy.cut_before_command(number),
            Some(Cut::BeforeReply(number)) => self.proxy.cut_before_reply(number),
            None => {}
        }
        let mut ledger = Ledger::default();
        let lived = self.live(after, &rig, &mut ledger).await;
        let commands = self.proxy.commands().len();
        match cut {
            None => lived?,
            Some(_) if after == AfterTheCut::Repeats => lived?,
            // A cut after the last word of the scenario, or one that the link repairs by itself, is not noticed.
            Some(_) => drop(lived),
        }
        if cut.is_some() {
            self.proxy.wait_until("the cut", |counters| counters.cut > cuts_before).await?;
        }
        self.check(&rig).await.context("after the cut")?;
        let fresh = rig.seen_by(QueueBackend::redis(connect(&self.redis.url()).await?));
        let rest = drain::drain(&fresh, &ledger.ids()).await.context("while draining")?;
        ledger.check(&rest)?;
        self.check(&fresh).await.context("after draining")?;
        Ok((rest, u64::try_from(commands)?))
    }

    /// The life of one process, up to its last call or its cut.
    async fn live(&self, after: AfterTheCut, rig: &Rig, ledger: &mut Ledger) -> Result<()> {
        let url = self.proxy.url(&self.redis.url());
        let link = loop {
            match connect(&url).await {
                Err(_) if after == AfterTheCut::Repeats => {}
                other => break other?,
            }
        };
        let ended = {
            let mut process = Process::new(link.clone(), rig, ledger, after);
            scenario::play(&mut process).await
        };
        link.shutdown(Duration::ZERO).await;
        ended
    }

    async fn check(&self, rig: &Rig) -> Result<()> {
        let ServerTime::Redis { link, .. } = &rig.time else { bail!("the scripts' clock is not in Redis") };
        invariants::check(link, &rig.shard).await
    }
}

/// A connection that says nothing by itself, so that every run of the scenario has the same commands.
async fn connect(url: &str) -> Result<Link> {
    let mut options = LinkOptions::from_url(url)?;
    options.heartbeat = Duration::from_secs(3_600);
    Ok(Link::connect(options, Clock::system()).await?)
}
