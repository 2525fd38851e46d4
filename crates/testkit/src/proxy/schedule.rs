//! Sequences of faults, explicit or drawn from a seed.

use super::flow::{Direction, Flow};
use super::{DEADLINE, Proxy};
use anyhow::Result;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::time::Duration;

/// One call of the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// [`Proxy::set`].
    Set(Direction, Flow),
    /// [`Proxy::cut`].
    Cut,
    /// [`Proxy::half_open`].
    HalfOpen,
    /// [`Proxy::refuse`].
    Refuse,
    /// [`Proxy::cut_after_bytes`].
    CutAfterBytes(Direction, u64),
    /// [`Proxy::heal`].
    Heal,
}

/// An act, due after a number of further commands, or after a time if fewer arrive (a stalled client sends none).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Commands from clients to wait for.
    pub commands: u64,
    /// The maximum time to wait for them.
    pub wait_max: Duration,
    /// The act.
    pub act: Act,
}

/// Steps in order. A failing test prints its `Debug` form with the seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule(pub Vec<Step>);

impl Schedule {
    /// Draws `faults` faults, each followed by healing. The same seed draws the same schedule.
    #[must_use]
    pub fn random(seed: u64, faults: usize) -> Schedule {
        let random = &mut StdRng::seed_from_u64(seed);
        let pairs = (0..faults).flat_map(|_| [random_fault(random), Act::Heal].map(|act| random_step(random, act)));
        Schedule(pairs.collect())
    }
}

fn random_step(random: &mut StdRng, act: Act) -> Step {
    Step { commands: random.random_range(0..60), wait_max: Duration::from_millis(random.random_range(5..250)), act }
}

fn random_fault(random: &mut StdRng) -> Act {
    let direction = if random.random_bool(0.5) { Direction::ToServer } else { Direction::ToClient };
    match random.random_range(0..7) {
        0 => Act::Cut,
        1 => Act::HalfOpen,
        2 => Act::Refuse,
        3 => Act::CutAfterBytes(direction, random.random_range(1..2000)),
        4 => Act::Set(direction, Flow::Stall),
        5 => Act::Set(direction, Flow::Swallow),
        _ => Act::Set(
            direction,
            Flow::Delay { min: Duration::ZERO, max: Duration::from_millis(random.random_range(1..40)) },
        ),
    }
}

pub(super) async fn play(proxy: &Proxy, schedule: &Schedule) -> Result<()> {
    for step in &schedule.0 {
        let seen = proxy.counters().commands;
        let enough = proxy.wait_until("commands", |counters| counters.commands >= seen + step.commands);
        // Whichever comes first; a test that has stopped sending must not hang the schedule.
        tokio::time::timeout(step.wait_max.min(DEADLINE), enough).await.ok();
        act(proxy, step.act).await?;
    }
    proxy.heal();
    proxy.refuse(false).await
}

async fn act(proxy: &Proxy, act: Act) -> Result<()> {
    match act {
        Act::Set(direction, flow) => proxy.set(direction, flow),
        Act::Cut => proxy.cut(),
        Act::HalfOpen => proxy.half_open(),
        Act::Refuse => return proxy.refuse(true).await,
        Act::CutAfterBytes(direction, bytes) => proxy.cut_after_bytes(direction, bytes),
        Act::Heal => {
            proxy.heal();
            return proxy.refuse(false).await;
        }
    }
    Ok(())
}
