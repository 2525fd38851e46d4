//! The model and the scripts of worker ids, compared on the same random calls; and no two owners have the same time of a worker id.

use super::rig::{Rig, SETTINGS, owner};
use crate::conformance::differential::{Differential, same};
use crate::conformance::step;
use anyhow::{Result, ensure};
use evenkeel::Token;
use evenkeel_protocol::id::Scope;
use evenkeel_protocol::id::settings::Settings;
use evenkeel_protocol::id::steps::{Acquire, Call, Extend, Release, Reserved};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::HashMap;

const OWNERS: u8 = 7;

/// The model and the scripts of a scope.
pub struct Scopes {
    model: Rig,
    redis: Rig,
    random: StdRng,
    /// The reserved time that each owner has seen: worker id, beginning, end.
    seen: HashMap<Token, (u16, u64, u64)>,
    /// Owners are numbered anew for each acquisition.
    generation: u8,
    /// The latest time of the scope that was replied: it is ahead of the server's clock once that was set back.
    last_ms: u64,
}

type Move = step::Move<Scope>;

impl Differential for Scopes {
    type Step = Move;

    const REPLIES: &'static [&'static str] = &[
        "Acquire Ok",
        "Acquire Taken",
        "Acquire Differs",
        "Acquire ClocksApart",
        "Extend Ok",
        "Extend Lost",
        "Extend Differs",
        "Extend ClocksApart",
        "Release Ok",
        "Release Lost",
        "Release Differs",
    ];

    async fn open(seed: u64) -> Result<Self> {
        let (model, redis) = (Rig::memory().await?, Rig::redis().await?);
        for rig in [&model, &redis] {
            // The first acquisition decides the settings of the scope, and some of those that are drawn have others.
            rig.acquire(u8::MAX).await?;
        }
        let random = StdRng::seed_from_u64(seed);
        Ok(Self { model, redis, random, seen: HashMap::new(), generation: 0, last_ms: 0 })
    }

    fn draw(&mut self) -> Move {
        let random = &mut self.random;
        match random.random_range(0..20) {
            0..=3 => return Move::Advance(*pick(random, &[1, 10, 999, 1_000, 5_000, 29_000, 30_000, 60_000])),
            4 => return Move::SetBack(*pick(random, &[1, 1_000, 60_000])),
            _ => {}
        }
        // A few owners at a time, and now and then others: each may repeat its call, or have been superseded.
        if random.random_bool(0.02) {
            self.generation = self.generation.wrapping_add(OWNERS);
        }
        let number = self.generation.wrapping_add(random.random_range(0..OWNERS));
        let worker = match self.seen.get(&owner(number)) {
            Some((worker, ..)) if random.random_bool(0.9) => *worker,
            _ => random.random_range(0..5),
        };
        let mut call = self.model.call(number);
        call.own_ms = call.own_ms.max(self.last_ms);
        match random.random_range(0..40) {
            0 => call.own_ms = call.own_ms.saturating_sub(30 * 3_600_000),
            1 => call.own_ms += 30 * 3_600_000,
            2 => call.settings = Settings { ahead_ms: 4_000, ..SETTINGS },
            _ => {}
        }
        match random.random_range(0..10) {
            0..=2 => Move::step(Acquire(call)),
            3 => Move::step(Release { call, worker }),
            _ => Move::step(Extend { call, worker }),
        }
    }

    async fn play(&mut self, step: &Move) -> Result<String> {
        let here = step.make(&self.model.time, &self.model.scopes, &self.model.scope).await?;
        let there = step.make(&self.redis.time, &self.redis.scopes, &self.redis.scope).await?;
        let reply = same(step, &here.text, &there.text)?;
        if let Some((Acquire(Call { owner, .. }), Ok(reserved))) = step.played::<Acquire>(&here) {
            self.note(*owner, reserved)?;
        }
        if let Some((Extend { call, .. }, Ok(reserved))) = step.played::<Extend>(&here) {
            self.note(call.owner, reserved)?;
        }
        Ok(reply)
    }

    /// Every worker id can be leased again.
    async fn finish(self) -> Result<()> {
        for rig in [&self.model, &self.redis] {
            rig.time.advance(600_000).await?;
            for number in 0..4 {
                let call = Call { own_ms: rig.time.now().max(self.last_ms + 600_000), ..rig.call(200 + number) };
                ensure!(rig.scopes.run(&rig.scope, &Acquire(call)).await?.is_ok(), "worker {number} is not free");
            }
        }
        Ok(())
    }
}

impl Scopes {
    /// Remembers what was reserved, and compares it with the times of the other owners of that worker id.
    fn note(&mut self, owner: Token, reserved: &Reserved) -> Result<()> {
        let Reserved { worker, from_ms: from, until_ms: until, now_ms } = *reserved;
        self.last_ms = self.last_ms.max(now_ms);
        ensure!(worker < 4, "the layout has no worker id {worker}");
        let others = self.seen.iter().filter(|(other, (of, ..))| **other != owner && *of == worker);
        for (other, (_, begun, ended)) in others {
            let meets = from.max(*begun) < until.min(*ended);
            ensure!(!meets, "{owner:?} has {from}..{until} of worker {worker}, {other:?} {begun}..{ended}");
        }
        match self.seen.get_mut(&owner) {
            Some(seen) if seen.0 == worker && seen.1 == from => seen.2 = seen.2.max(until),
            // The same owner with another worker id or a later time: what it had before stays its own, for the comparison under another name.
            Some(seen) => {
                let before = std::mem::replace(seen, (worker, from, until));
                self.seen.insert(Token::from(self.random.random::<[u8; 16]>()), before);
            }
            None => {
                self.seen.insert(owner, (worker, from, until));
            }
        }
        Ok(())
    }
}

fn pick<'a, T>(random: &mut StdRng, from: &'a [T]) -> &'a T {
    &from[random.random_range(0..from.len())]
}
