//! The model and the scripts of pools, compared on the same random calls.

use super::rig::{Rig, owner};
use crate::conformance::differential::{Differential, same};
use crate::conformance::step;
use anyhow::{Result, ensure};
use bytes::Bytes;
use evenkeel::lock::Fence;
use evenkeel_protocol::lock::pool::Pool;
use evenkeel_protocol::lock::pool::steps::{
    BreakHolds, Inspect, Kind, PERMITS_MAX, PermitRequest, Raise, Release, Renew, Resize,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const OWNERS: u8 = 6;
/// Permits of the semaphore, mostly.
const SEATS: u32 = 4;

/// The model and the scripts of a read/write lock and a semaphore.
pub struct Pools {
    model: Rig,
    redis: Rig,
    fence: Fence,
    random: StdRng,
}

/// A step of a pool, or an event.
type Move = step::Move<Pool>;

/// A move for one of the pools.
#[derive(Clone, Debug)]
pub struct Step {
    kind: Kind,
    call: Move,
}

impl Differential for Pools {
    type Step = Step;

    const REPLIES: &'static [&'static str] = &[
        "PermitRequest Granted",
        "PermitRequest Taken",
        "PermitRequest Queued",
        "PermitRequest Differs",
        "Renew Renewed",
        "Renew Held",
        "Renew Lost",
        "Release Released",
        "Release Nothing",
        "Raise Some",
        "Raise None",
        "Inspect Some",
        "BreakHolds some",
        "BreakHolds none",
    ];

    async fn open(seed: u64) -> Result<Self> {
        let (model, redis) = (Rig::memory().await?, Rig::redis().await?);
        Ok(Self { model, redis, fence: Fence(0), random: StdRng::seed_from_u64(seed) })
    }

    fn draw(&mut self) -> Step {
        let pool = if self.random.random_bool(0.5) { &self.model.shelf } else { &self.model.desks };
        Step { kind: pool.kind(), call: next(pool.kind(), self.fence, &mut self.random) }
    }

    async fn play(&mut self, Step { kind, call }: &Step) -> Result<String> {
        let (model, redis) = (&self.model, &self.redis);
        let reply = same(call, &make(model, *kind, call).await?, &make(redis, *kind, call).await?)?;
        check(model, model.of_kind(*kind), &mut self.fence).await?;
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

async fn make(rig: &Rig, kind: Kind, call: &Move) -> Result<String> {
    let reply = call.make(&rig.time, &rig.pools, rig.of_kind(kind)).await?;
    Ok(match call.played::<BreakHolds>(&reply) {
        Some((_, broken)) => format!("{} {broken:?}", if broken.is_empty() { "none" } else { "some" }),
        None => reply.text,
    })
}

/// A call worth making.
fn next(kind: Kind, fence: Fence, random: &mut StdRng) -> Move {
    let number = random.random_range(1..=OWNERS);
    let owner = owner(number);
    let near = Fence(fence.0.saturating_sub(1) + random.random_range(0..4));
    match random.random_range(0..1_000) {
        0..=119 => Move::Advance(random.random_range(1..40)),
        120..=199 => Move::Advance(random.random_range(500..3_000)),
        200..=229 => Move::Advance(random.random_range(5_000..40_000)),
        230..=239 => Move::SetBack(random.random_range(1..60_000)),
        240..=619 => Move::step(ask(kind, number, near, random)),
        620..=729 => Move::step(Renew { owner, lease_ms: random.random_range(10_000..30_000) }),
        730..=869 => Move::step(Release { owner }),
        870..=899 if kind == Kind::ReadWrite => {
            Move::step(Raise { owner, mine: Fence(near.0.saturating_sub(random.random_range(0..2))), seen: near })
        }
        980..=989 => Move::step(BreakHolds(random.random_bool(0.8).then_some(owner))),
        990 if kind == Kind::Semaphore => Move::step(Resize(SEATS)),
        991 if kind == Kind::Semaphore => Move::step(Resize(SEATS - 1)),
        _ => Move::step(Inspect),
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
async fn check(rig: &Rig, pool: &Pool, fence: &mut Fence) -> Result<()> {
    let Some(state) = rig.pools.run(pool, &Inspect).await? else { return Ok(()) };
    let held: u32 = state.holders.iter().map(|holder| holder.permits).sum();
    // After a decrease the holders keep their permits.
    let most = if pool.kind() == Kind::Semaphore { SEATS } else { state.permits_in_all };
    ensure!(held <= most, "{held} of {most} are held: {state:?}");
    if pool.kind() == Kind::ReadWrite {
        ensure!(state.fence >= *fence, "the fence fell from {fence} to {}", state.fence);
        *fence = state.fence;
    }
    Ok(())
}
