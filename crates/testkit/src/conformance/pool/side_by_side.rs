//! The model and the scripts of pools, compared on the same random calls.

use super::rig::{Rig, owner};
use crate::conformance::differential::{Differential, same};
use anyhow::{Result, ensure};
use bytes::Bytes;
use evenkeel::lock::Fence;
use evenkeel_protocol::lock::pool::steps::{Kind, PERMITS_MAX, PermitRequest, Pool, PoolSteps};
use evenkeel_protocol::lock::pool::{MemoryPool, RedisPool};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const OWNERS: u8 = 6;
/// Permits of the semaphore, mostly.
const SEATS: u32 = 4;

/// The model and the scripts of a read/write lock and a semaphore.
pub struct Pools {
    model: Rig<MemoryPool>,
    redis: Rig<RedisPool>,
    fence: Fence,
    random: StdRng,
}

/// A call for one of the pools.
#[derive(Clone, Debug)]
pub struct Step {
    kind: Kind,
    call: Call,
}

/// One call, or an event that happens to both.
#[derive(Clone, Debug)]
enum Call {
    Advance(u64),
    SetBack(u64),
    Acquire(PermitRequest),
    Renew(u8, u64),
    Release(u8),
    Raise(u8, Fence, Fence),
    Inspect,
    Break(Option<u8>),
    Resize(u32),
}

impl Differential for Pools {
    type Step = Step;

    const REPLIES: &'static [&'static str] = &[
        "Acquire Granted",
        "Acquire Taken",
        "Acquire Queued",
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

    async fn open(seed: u64) -> Result<Self> {
        let (model, redis) = (Rig::memory().await?, Rig::redis().await?);
        Ok(Self { model, redis, fence: Fence(0), random: StdRng::seed_from_u64(seed) })
    }

    fn draw(&mut self) -> Step {
        let pool = if self.random.random_bool(0.5) { &self.model.shelf } else { &self.model.desks };
        Step { kind: pool.kind, call: next(pool.kind, self.fence, &mut self.random) }
    }

    async fn play(&mut self, Step { kind, call }: &Step) -> Result<String> {
        let (model, redis) = (&self.model, &self.redis);
        let pool = if *kind == model.shelf.kind { &model.shelf } else { &model.desks };
        let reply = same(call, &make(model, pool, call).await?, &make(redis, pool, call).await?)?;
        check(model, pool, &mut self.fence).await?;
        Ok(reply)
    }

    /// Every caller gets in.
    async fn finish(self) -> Result<()> {
        self.model.time.advance(120_000).await?;
        self.redis.time.advance(120_000).await?;
        for number in 1..=OWNERS {
            self.model.enter(&super::writer(number)).await?;
            self.model.leave(number).await?;
            self.redis.enter(&super::writer(number)).await?;
            self.redis.leave(number).await?;
        }
        Ok(())
    }
}

async fn make<P: PoolSteps>(rig: &Rig<P>, pool: &Pool, call: &Call) -> Result<String> {
    let pools = &rig.pools;
    Ok(match call {
        Call::Advance(ms) => format!("{:?}", rig.time.advance(*ms).await.map(|()| rig.time.now())?),
        Call::SetBack(ms) => format!("{:?}", rig.time.set_back(*ms).await.map(|()| rig.time.now())?),
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

fn ask(kind: Kind, number: u8, near: Fence, random: &mut StdRng) -> PermitRequest {
    let (permits, permits_in_all) = match kind {
        Kind::ReadWrite if random.random_bool(0.3) => (PERMITS_MAX, PERMITS_MAX),
        Kind::ReadWrite => (1, PERMITS_MAX),
        Kind::Semaphore if random.random_bool(0.02) => (1, SEATS - 1),
        Kind::Semaphore => (random.random_range(1..=SEATS), SEATS),
    };
    let waits = random.random_bool(0.6);
    PermitRequest {
        owner: owner(number),
        permits,
        permits_in_all,
        lease_ms: random.random_range(10_000..30_000),
        hold_ms_max: random.random_bool(0.3).then(|| random.random_range(1..60_000)),
        fence_floor: if random.random_bool(0.1) { near.0 } else { 0 },
        waits,
        waited_ms: if random.random_bool(0.3) { random.random_range(0..3_000) } else { 0 },
        polls: waits && random.random_bool(0.4),
        metadata: Bytes::from(vec![b'w'; random.random_range(0..4)]),
    }
}

/// The invariants after every call: no more permits are held than exist, a writer holds alone, fences never fall. They are checked on one of
/// the two: they have agreed.
async fn check<P: PoolSteps>(rig: &Rig<P>, pool: &Pool, fence: &mut Fence) -> Result<()> {
    let Some(state) = rig.pools.inspect(pool).await? else { return Ok(()) };
    let held: u32 = state.holders.iter().map(|holder| holder.permits).sum();
    // After a decrease the holders keep their permits.
    let most = if pool.kind == Kind::Semaphore { SEATS } else { state.permits_in_all };
    ensure!(held <= most, "{held} of {most} are held: {state:?}");
    if pool.kind == Kind::ReadWrite {
        ensure!(state.fence >= *fence, "the fence fell from {fence} to {}", state.fence);
        *fence = state.fence;
    }
    Ok(())
}
