//! The model and the scripts of locks, compared on the same random calls.

use super::rig::{Party, Rig};
use crate::conformance::differential::{Differential, same};
use anyhow::{Result, bail, ensure};
use bytes::Bytes;
use evenkeel::lock::{Fence, LockName};
use evenkeel_protocol::lock::steps::{Acquire, Acquired, LockSteps, Release, Released, Renewed};
use evenkeel_protocol::lock::{MemoryLock, RedisLock};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const PARTIES: u8 = 4;
const NAMES: [&str; 2] = ["stock/42", "}%{"];

/// The model and the scripts of two locks.
pub struct Locks {
    model: Rig<MemoryLock>,
    redis: Rig<RedisLock>,
    names: [LockName; 2],
    floors: [u64; 2],
    random: StdRng,
}

/// A call for one of the locks.
#[derive(Clone, Debug)]
pub struct Step {
    name: usize,
    call: Call,
}

/// One call, or an event that happens to both.
#[derive(Clone, Debug)]
enum Call {
    Advance(u64),
    SetBack(u64),
    Acquire(Acquire),
    Renew(Party, u64),
    Release(Release),
    Raise(Party, Fence),
    Inspect,
    Break(Option<Fence>),
}

impl Differential for Locks {
    type Step = Step;

    const REPLIES: &'static [&'static str] = &[
        "Acquire Granted",
        "Acquire Taken",
        "Renew Renewed",
        "Renew Held",
        "Renew Lost",
        "Release Released",
        "Release Lost",
        "Release Nothing",
        "Raise Some",
        "Raise None",
        "Inspect Some",
        "Inspect None",
        "Break Some",
        "Break None",
    ];

    async fn open(seed: u64) -> Result<Self> {
        Ok(Self {
            model: Rig::memory().await?,
            redis: Rig::redis().await?,
            names: [LockName::new(NAMES[0])?, LockName::new(NAMES[1])?],
            floors: [1_700_000_000_000_000; 2],
            random: StdRng::seed_from_u64(seed),
        })
    }

    fn draw(&mut self) -> Step {
        let name = usize::from(self.random.random_bool(0.2));
        Step { name, call: next(&mut self.floors[name], &mut self.random) }
    }

    async fn play(&mut self, Step { name, call }: &Step) -> Result<String> {
        let name = &self.names[*name];
        let (expected, got) = (make(&self.model, name, call).await?, make(&self.redis, name, call).await?);
        same(call, &expected, &got)
    }

    /// Every lock can be acquired again, with rising fences. One of the two is asked: they have agreed.
    async fn finish(self) -> Result<()> {
        let rig = &self.model;
        for name in &self.names {
            rig.time.advance(120_000).await?;
            let mut last = Fence(0);
            for party in (1..=PARTIES).map(Party::new) {
                let Acquired::Granted { fence, .. } = rig.locks.acquire(name, &party.call()).await? else {
                    bail!("{name} is not free two minutes later")
                };
                ensure!(fence > last, "the fence went from {last} to {fence}");
                last = fence;
                let renewed = rig.locks.renew(name, party.owner, 1_000).await?;
                ensure!(matches!(renewed, Renewed::Held { .. }), "a renewal shortened the lease");
                let call = Release { owner: party.owner, process: party.process, waits: false };
                let released = rig.locks.release(name, call).await?;
                ensure!(matches!(released, Released::Released { .. }), "{released:?}");
            }
        }
        Ok(())
    }
}

async fn make<L: LockSteps>(rig: &Rig<L>, name: &LockName, call: &Call) -> Result<String> {
    let locks = &rig.locks;
    Ok(match call {
        Call::Advance(ms) => format!("{:?}", rig.time.advance(*ms).await.map(|()| rig.time.now())?),
        Call::SetBack(ms) => format!("{:?}", rig.time.set_back(*ms).await.map(|()| rig.time.now())?),
        Call::Acquire(call) => format!("{:?}", locks.acquire(name, call).await?),
        Call::Renew(party, ms) => format!("{:?}", locks.renew(name, party.owner, *ms).await?),
        Call::Release(call) => format!("{:?}", locks.release(name, *call).await?),
        Call::Raise(party, seen) => format!("{:?}", locks.raise(name, party.owner, *seen).await?),
        Call::Inspect => format!("{:?}", locks.inspect(name).await?),
        Call::Break(seen) => format!("{:?}", locks.break_lock(name, *seen).await?),
    })
}

/// A call worth making.
fn next(floor: &mut u64, random: &mut StdRng) -> Call {
    let party = Party::new(random.random_range(1..=PARTIES));
    // Two processes with two owners each.
    let party = Party { process: Party::new(1 + party.owner.as_bytes()[0] % 2).process, ..party };
    match random.random_range(0..100) {
        0..=11 => Call::Advance(random.random_range(1..40)),
        12..=19 => Call::Advance(random.random_range(500..3_000)),
        20..=23 => Call::Advance(random.random_range(5_000..40_000)),
        24 => Call::SetBack(random.random_range(1..60_000)),
        25..=54 => {
            if random.random_bool(0.02) {
                *floor += random.random_range(1..1_000_000_000);
            }
            Call::Acquire(Acquire {
                lease_ms: random.random_range(10_000..30_000),
                cooling_ms: if random.random_bool(0.2) { random.random_range(1..10_000) } else { 0 },
                hold_ms_max: random.random_bool(0.3).then(|| random.random_range(1..60_000)),
                fence_floor: if random.random_bool(0.1) { *floor } else { 0 },
                waits: random.random_bool(0.5),
                metadata: Bytes::from(vec![b'w'; random.random_range(0..4)]),
                ..party.call()
            })
        }
        55..=69 => Call::Renew(party, random.random_range(10_000..30_000)),
        70..=85 => {
            Call::Release(Release { owner: party.owner, process: party.process, waits: random.random_bool(0.2) })
        }
        86..=89 => Call::Raise(party, Fence(*floor)),
        90..=97 => Call::Inspect,
        98 => Call::Break(None),
        _ => Call::Break(Some(Fence(*floor))),
    }
}
