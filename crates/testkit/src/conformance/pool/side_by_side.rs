//! The model and the scripts, given the same random calls: every answer must be equal, and what is promised of the answers holds.
//!
//! A seed decides everything; the report of a difference names it and shows the calls before.

use super::world::{World, owner};
use crate::conformance::cache::side_by_side::SEED_VARIABLE;
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use evenkeel::lock::Fence;
use evenkeel_protocol::lock::pool::steps::{Ask, Kind, PERMITS_MAX, Pool, PoolSteps};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, VecDeque};

/// Calls shown when something differs.
const SHOWN: usize = 25;
const OWNERS: u8 = 6;
/// Permits of the semaphore, mostly.
const SEATS: u32 = 4;

/// Kinds of answers a long run must meet: what never happens is not compared.
const ANSWERS: &[&str] = &[
    "Acquire Granted",
    "Acquire Taken",
    "Acquire Differs",
    "Renew Renewed",
    "Renew Held",
    "Renew Lost",
    "Release Released",
    "Release Nothing",
    "Raise Some",
    "Raise None",
    "Inspect Some",
    "Break some",
    "Break none",
];

/// One call, or what the world does to both.
#[derive(Clone, Debug)]
enum Call {
    Advance(u64),
    SetBack(u64),
    Acquire(Ask),
    Renew(u8, u64),
    Release(u8),
    Raise(u8, Fence, Fence),
    Inspect,
    Break(Option<u8>),
    Resize(u32),
}

/// How often each kind of answer came.
#[derive(Clone, Debug, Default)]
pub struct Tally(BTreeMap<String, usize>);

impl Tally {
    /// The answers that never came, of those that a long run must meet.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        ANSWERS.iter().copied().filter(|answer| !self.0.contains_key(*answer)).collect()
    }

    /// Counts another run's answers too.
    pub fn add(&mut self, other: Tally) {
        for (answer, count) in other.0 {
            *self.0.entry(answer).or_default() += count;
        }
    }

    fn count(&mut self, call: &Call, answer: &str) {
        let word = |text: &str| text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned();
        *self.0.entry(format!("{} {}", word(&format!("{call:?}")), word(answer))).or_default() += 1;
    }
}

/// Drives both through `steps` random calls; tells which answers there were.
///
/// # Errors
/// The first difference, with the seed and the calls before it.
pub async fn pools_agree(seed: u64, steps: usize) -> Result<Tally> {
    let (model, redis) = (World::memory().await?, World::redis().await?);
    let mut random = StdRng::seed_from_u64(seed);
    let mut tally = Tally::default();
    let mut shown = VecDeque::new();
    let mut fence = Fence(0);
    for step in 1..=steps {
        let pool = if random.random_bool(0.5) { &model.shelf } else { &model.desks };
        let call = next(pool.kind, fence, &mut random);
        shown.push_back(format!("{pool:?} {call:?}"));
        if shown.len() > SHOWN {
            shown.pop_front();
        }
        let story = || {
            let calls: Vec<&str> = shown.iter().map(String::as_str).collect();
            format!("step {step}; to replay: {SEED_VARIABLE}={seed}\n{}", calls.join("\n"))
        };
        let expected = make(&model, pool, &call).await.with_context(story)?;
        let got = make(&redis, pool, &call).await.with_context(story)?;
        let same = if expected == got { Ok(()) } else { Err(anyhow::anyhow!("model {expected}\n redis {got}")) };
        same.with_context(story)?;
        tally.count(&call, &got);
        judge(&model, pool, &mut fence).await.with_context(story)?;
    }
    // After the storm everybody gets in.
    for world_time in [&model.time, &redis.time] {
        world_time.advance(120_000).await?;
    }
    for number in 1..=OWNERS {
        model.enter(&super::writer(number)).await?;
        model.leave(number).await?;
        redis.enter(&super::writer(number)).await?;
        redis.leave(number).await?;
    }
    Ok(tally)
}

async fn make<P: PoolSteps>(world: &World<P>, pool: &Pool, call: &Call) -> Result<String> {
    let pools = &world.pools;
    Ok(match call {
        Call::Advance(ms) => format!("{:?}", world.time.advance(*ms).await.map(|()| world.time.now())?),
        Call::SetBack(ms) => format!("{:?}", world.time.set_back(*ms).await.map(|()| world.time.now())?),
        Call::Acquire(ask) => format!("{:?}", pools.acquire(pool, ask).await?),
        Call::Renew(number, ms) => format!("{:?}", pools.renew(pool, owner(*number), *ms).await?),
        Call::Release(number) => format!("{:?}", pools.release(pool, owner(*number)).await?),
        Call::Raise(number, mine, seen) => format!("{:?}", pools.raise(pool, owner(*number), *mine, *seen).await?),
        Call::Inspect => format!("{:?}", pools.inspect(pool).await?),
        Call::Break(number) => {
            let broken = pools.break_holds(pool, number.map(owner)).await?;
            format!("{} {broken:?}", if broken.is_empty() { "none" } else { "some" })
        }
        Call::Resize(permits) => format!("{:?}", pools.resize(pool, *permits).await?),
    })
}

/// A call worth making.
fn next(kind: Kind, fence: Fence, random: &mut StdRng) -> Call {
    let number = random.random_range(1..=OWNERS);
    let near = Fence(fence.0.saturating_sub(1) + random.random_range(0..4));
    match random.random_range(0..1_000) {
        0..=119 => Call::Advance(random.random_range(1..40)),
        120..=199 => Call::Advance(random.random_range(500..3_000)),
        200..=229 => Call::Advance(random.random_range(5_000..40_000)),
        230..=239 => Call::SetBack(random.random_range(1..60_000)),
        240..=619 => Call::Acquire(ask(kind, number, near, random)),
        620..=729 => Call::Renew(number, random.random_range(10_000..30_000)),
        730..=869 => Call::Release(number),
        870..=899 if kind == Kind::ReadWrite => {
            Call::Raise(number, Fence(near.0.saturating_sub(random.random_range(0..2))), near)
        }
        980..=989 => Call::Break(random.random_bool(0.8).then_some(number)),
        990 if kind == Kind::Semaphore => Call::Resize(SEATS),
        991 if kind == Kind::Semaphore => Call::Resize(SEATS - 1),
        _ => Call::Inspect,
    }
}

fn ask(kind: Kind, number: u8, near: Fence, random: &mut StdRng) -> Ask {
    let (permits, permits_in_all) = match kind {
        Kind::ReadWrite if random.random_bool(0.3) => (PERMITS_MAX, PERMITS_MAX),
        Kind::ReadWrite => (1, PERMITS_MAX),
        Kind::Semaphore if random.random_bool(0.02) => (1, SEATS - 1),
        Kind::Semaphore => (random.random_range(1..=SEATS), SEATS),
    };
    Ask {
        owner: owner(number),
        permits,
        permits_in_all,
        lease_ms: random.random_range(10_000..30_000),
        hold_ms_max: random.random_bool(0.3).then(|| random.random_range(1..60_000)),
        fence_floor: if random.random_bool(0.1) { near.0 } else { 0 },
        waits: random.random_bool(0.6),
        words: Bytes::from(vec![b'w'; random.random_range(0..4)]),
    }
}

/// What must be so whatever was called: no more are held than there are, a writer is alone, fences never fall. It is judged on one of
/// the two: they have agreed.
async fn judge<P: PoolSteps>(world: &World<P>, pool: &Pool, fence: &mut Fence) -> Result<()> {
    let Some(state) = world.pools.inspect(pool).await? else { return Ok(()) };
    let held: u32 = state.holders.iter().map(|holder| holder.permits).sum();
    // After a decrease those who hold some keep them.
    let most = if pool.kind == Kind::Semaphore { SEATS } else { state.permits_in_all };
    ensure!(held <= most, "{held} of {most} are held: {state:?}");
    if pool.kind == Kind::ReadWrite {
        ensure!(state.fence >= *fence, "the fence fell from {fence} to {}", state.fence);
        *fence = state.fence;
    }
    Ok(())
}
