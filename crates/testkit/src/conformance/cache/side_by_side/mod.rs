//! Random steps through two backends side by side: every answer must be equal, and the stored bytes after it.
//!
//! A seed decides everything. When two backends differ, the steps are cut down to few that still show it, and the report
//! names the seed.

mod call;
mod step;
mod world;

use super::{Backend, InMemory, OnRedis};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::collections::BTreeMap;
use std::fmt::Write;
use step::Step;
use world::{Difference, World};

/// The environment variable that replays one seed.
pub const SEED_VARIABLE: &str = "EVENKEEL_SEED";

const ANSWERS: &[&str] = &[
    "Lease Granted",
    "Lease Landed",
    "Lease Wait",
    "Lease Failing",
    "Lease Writing",
    "Lease OtherSchema",
    "Fill Stored",
    "Fill Superseded",
    "Fill BelowFloor",
    "Fill Gone",
    "BeginWrite Open",
    "BeginWrite Busy",
    "RenewWrite Open",
    "RenewWrite Lost",
    "EndWrite Closed",
    "EndWrite Lapsed",
];

/// Attempts to make a failing run shorter.
const SHORTER_ATTEMPTS_MAX: usize = 200;

/// How often each kind of answer came.
#[derive(Clone, Debug, Default)]
pub struct Tally(BTreeMap<String, usize>);

impl Tally {
    /// The answers that never came, of those that a long run must meet: what never happens is not compared.
    pub fn missing(&self) -> Vec<&'static str> {
        ANSWERS.iter().copied().filter(|answer| !self.0.contains_key(*answer)).collect()
    }

    /// Counts another run's answers too.
    pub fn add(&mut self, other: Tally) {
        for (answer, count) in other.0 {
            *self.0.entry(answer).or_default() += count;
        }
    }
}

/// Drives `steps` random steps, drawn from `seed`, through the model and a Redis; tells which answers there were.
///
/// # Panics
/// When they differ: with the seed, the shortest steps found that show it, and both answers.
pub async fn model_and_redis_agree(seed: u64, steps: usize) -> Tally {
    let steps = Step::draw(&mut StdRng::seed_from_u64(seed), steps);
    match play(&steps).await {
        Ok(tally) => tally,
        Err(difference) => {
            let (steps, difference) = shorten(steps, difference).await;
            panic!("{}", report(seed, &steps, &difference));
        }
    }
}

/// The seed to replay, if one was named; otherwise the given ones and a new one.
pub fn seeds(usual: &[u64]) -> Vec<u64> {
    match std::env::var(SEED_VARIABLE) {
        Ok(seed) => vec![seed.parse().expect("EVENKEEL_SEED is a number")],
        Err(_) => usual.iter().copied().chain([rand::random()]).collect(),
    }
}

async fn play(steps: &[Step]) -> Result<Tally, Difference> {
    let (model, redis) = (InMemory::default(), OnRedis::start().await.unwrap());
    assert_eq!(model.now_ms(), redis.now_ms());
    World::new(&model, &redis).play(steps).await
}

/// Leaves out what is not needed to show a difference: other keys first, then ever smaller parts.
async fn shorten(mut steps: Vec<Step>, mut difference: Difference) -> (Vec<Step>, Difference) {
    steps.truncate(difference.at + 1);
    let key = steps[difference.at].key;
    let mut attempts = 0;
    let mut part = steps.len();
    let mut candidate: Vec<Step> = steps.iter().filter(|step| step.key == key || step.moves_time()).cloned().collect();
    let mut from = 0;
    loop {
        attempts += 1;
        match play(&candidate).await {
            Err(found) => {
                candidate.truncate(found.at + 1);
                (steps, difference) = (candidate, found);
            }
            Ok(_) => from += part,
        }
        if from >= steps.len() {
            (part, from) = (part / 2, 0);
        }
        if part == 0 || attempts > SHORTER_ATTEMPTS_MAX {
            return (steps, difference);
        }
        let until = (from + part).min(steps.len());
        candidate = [&steps[..from], &steps[until..]].concat();
    }
}

fn report(seed: u64, steps: &[Step], difference: &Difference) -> String {
    let mut text = format!("the model and Redis differ; to replay: {SEED_VARIABLE}={seed}\n");
    for step in steps {
        writeln!(text, "  {step:?}").unwrap();
    }
    writeln!(text, "last call: {:?}", difference.call).unwrap();
    writeln!(text, "model: {}\nRedis: {}", difference.model, difference.redis).unwrap();
    text
}
