//! The model and the scripts, given the same random calls: every answer must be equal, and what is promised of the answers holds.
//!
//! A seed decides everything; the report of a difference names it and shows the calls before.

use super::world::{Party, World};
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use evenkeel::lock::{Fence, LockName};
use evenkeel_protocol::lock::steps::{Acquire, Acquired, LockSteps, Release, Released, Renewed};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Calls shown when something differs.
const SHOWN: usize = 25;
const PARTIES: u8 = 4;
const NAMES: [&str; 2] = ["stock/42", "}%{"];

/// Kinds of answers a long run must meet: what never happens is not compared.
const ANSWERS: &[&str] = &[
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

/// One call, or what the world does to both.
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
pub async fn model_and_redis_agree(seed: u64, steps: usize) -> Result<Tally> {
    let model = World::memory().await?;
    let redis = World::redis().await?;
    let names = [LockName::new(NAMES[0])?, LockName::new(NAMES[1])?];
    let mut random = StdRng::seed_from_u64(seed);
    let mut watch = Watch::default();
    let mut tally = Tally::default();
    let mut shown = VecDeque::new();
    for step in 1..=steps {
        let name = &names[usize::from(random.random_bool(0.2))];
        let call = watch.next(name, &mut random);
        shown.push_back(format!("{name} {call:?}"));
        if shown.len() > SHOWN {
            shown.pop_front();
        }
        let story = || {
            let replay = crate::conformance::cache::side_by_side::SEED_VARIABLE;
            let calls: Vec<&str> = shown.iter().map(String::as_str).collect();
            format!("step {step}; to replay: {replay}={seed}\n{}", calls.join("\n"))
        };
        let expected = make(&model, name, &call).await.with_context(story)?;
        let got = make(&redis, name, &call).await.with_context(story)?;
        let same = if expected == got { Ok(()) } else { Err(anyhow::anyhow!("model {expected}\n redis {got}")) };
        same.with_context(story)?;
        tally.count(&call, &got);
    }
    // Fences, and that no two hold at once, are judged on one of the two: they have agreed.
    watch.judge(&model, &names, seed).await?;
    Ok(tally)
}

async fn make<L: LockSteps>(world: &World<L>, name: &LockName, call: &Call) -> Result<String> {
    let locks = &world.locks;
    Ok(match call {
        Call::Advance(ms) => format!("{:?}", world.time.advance(*ms).await.map(|()| world.time.now())?),
        Call::SetBack(ms) => format!("{:?}", world.time.set_back(*ms).await.map(|()| world.time.now())?),
        Call::Acquire(call) => format!("{:?}", locks.acquire(name, call).await?),
        Call::Renew(party, ms) => format!("{:?}", locks.renew(name, party.owner, *ms).await?),
        Call::Release(call) => format!("{:?}", locks.release(name, *call).await?),
        Call::Raise(party, seen) => format!("{:?}", locks.raise(name, party.owner, *seen).await?),
        Call::Inspect => format!("{:?}", locks.inspect(name).await?),
        Call::Break(seen) => format!("{:?}", locks.break_lock(name, *seen).await?),
    })
}

/// What calls are worth making.
#[derive(Default)]
struct Watch {
    floor: HashMap<LockName, u64>,
}

impl Watch {
    fn next(&mut self, name: &LockName, random: &mut StdRng) -> Call {
        let party = Party::new(random.random_range(1..=PARTIES));
        // Two processes with two owners each.
        let party = Party { process: Party::new(1 + party.owner.as_bytes()[0] % 2).process, ..party };
        let base = 1_700_000_000_000_000;
        let floor = self.floor.entry(name.clone()).or_insert(base);
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
                    words: Bytes::from(vec![b'w'; random.random_range(0..4)]),
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

    /// After the storm every lock can be had again, with fences that rise.
    async fn judge<L: LockSteps>(&self, world: &World<L>, names: &[LockName], seed: u64) -> Result<()> {
        for name in names {
            world.time.advance(120_000).await?;
            let mut last = Fence(0);
            for number in 1..=PARTIES {
                let party = Party::new(number);
                let Acquired::Granted { fence, .. } = world.locks.acquire(name, &party.call()).await? else {
                    anyhow::bail!("seed {seed}: {name} is not free two minutes later")
                };
                ensure!(fence > last, "seed {seed}: the fence went from {last} to {fence}");
                last = fence;
                let renewed = world.locks.renew(name, party.owner, 1_000).await?;
                ensure!(matches!(renewed, Renewed::Held { .. }), "seed {seed}: a renewal shortened the lease");
                let call = Release { owner: party.owner, process: party.process, waits: false };
                let released = world.locks.release(name, call).await?;
                ensure!(matches!(released, Released::Released { .. }), "seed {seed}: {released:?}");
            }
        }
        Ok(())
    }
}
