//! The differential harness: the same random steps run on a model and on its scripts, and every reply must be equal.
//!
//! A seed decides everything. When the two differ, the steps are cut down to few that still show it, and the report names
//! the seed.

use anyhow::{Error, Result, ensure};
use std::collections::BTreeMap;
use std::fmt::Debug;

/// The environment variable that replays one seed.
pub const SEED_VARIABLE: &str = "EVENKEEL_SEED";

/// The environment variable with the number of steps of a longer run.
pub const STEPS_VARIABLE: &str = "EVENKEEL_SIM_STEPS";

/// Steps between two checks of everything that can be read.
const CHECK_EVERY: usize = 250;
/// Steps spent on making a failing run shorter.
const SHORTEN_STEPS_MAX: usize = 100_000;
/// Steps that a report shows.
const SHOWN: usize = 50;

/// A model and its scripts in the same situation, and the steps that they take.
pub trait Differential: Sized {
    /// A call with all its arguments, or an event that happens to both.
    type Step: Clone + Debug;

    /// Replies that a long run must meet, each with the name of its call before it: what never happens is not compared.
    const REPLIES: &'static [&'static str];

    /// Both, empty.
    fn open(seed: u64) -> impl Future<Output = Result<Self>>;

    /// The next step.
    fn draw(&mut self) -> Self::Step;

    /// Takes a step on both; returns the name of the call and its reply.
    ///
    /// # Errors
    /// The first difference, or a broken promise.
    fn play(&mut self, step: &Self::Step) -> impl Future<Output = Result<String>>;

    /// Compares everything that can be read.
    fn check(&mut self) -> impl Future<Output = Result<()>> {
        std::future::ready(Ok(()))
    }

    /// What must be possible after the last step.
    fn finish(self) -> impl Future<Output = Result<()>> {
        std::future::ready(Ok(()))
    }
}

/// Takes `steps` random steps, or as many as the environment names, for each of three seeds, or for the one that the environment names.
///
/// # Errors
/// The first difference, with the seed and the fewest steps found that show it; or the replies that were never met.
pub async fn compare<D: Differential>(steps: usize) -> Result<()> {
    let steps = std::env::var(STEPS_VARIABLE).map_or(Ok(steps), |named| named.parse())?;
    let mut met = BTreeMap::new();
    for seed in seeds(&[1, 2]) {
        let mut left = steps;
        let next = |pair: &mut D| {
            left = left.checked_sub(1)?;
            Some(pair.draw())
        };
        if let Err(difference) = run(seed, next, &mut met).await {
            return Err(shorten(seed, difference).await.report(seed));
        }
    }
    let missing: Vec<_> = D::REPLIES.iter().filter(|reply| !met.contains_key(**reply)).collect();
    let is_replay = std::env::var(SEED_VARIABLE).is_ok();
    ensure!(is_replay || missing.is_empty(), "never met: {missing:?} in {met:?}");
    Ok(())
}

/// The seed to replay, if one was named; otherwise the given ones and a new one.
#[must_use]
#[expect(clippy::expect_used, reason = "a test harness reports a wrong variable by failing")]
pub fn seeds(usual: &[u64]) -> Vec<u64> {
    match std::env::var(SEED_VARIABLE) {
        Ok(seed) => vec![seed.parse().expect("EVENKEEL_SEED is a number")],
        Err(_) => usual.iter().copied().chain([rand::random()]).collect(),
    }
}

/// The name of a call and its reply, which must be the same on both.
///
/// # Errors
/// The replies differ.
pub fn same(call: &impl Debug, model: &str, scripts: &str) -> Result<String> {
    ensure!(model == scripts, "{call:?}\n  model:   {model}\n  scripts: {scripts}");
    let call = format!("{call:?}");
    let name = call.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    Ok(format!("{name} {model}"))
}

/// The steps of a run that failed.
struct Difference<D: Differential> {
    taken: Vec<D::Step>,
    error: Error,
}

impl<D: Differential> Difference<D> {
    fn report(self, seed: u64) -> Error {
        let shown = self.taken.len().saturating_sub(SHOWN);
        let steps: Vec<String> = self.taken[shown..].iter().map(|step| format!("  {step:?}")).collect();
        let text =
            format!("to replay: {SEED_VARIABLE}={seed}; the last of {} steps\n{}", self.taken.len(), steps.join("\n"));
        self.error.context(text)
    }
}

async fn run<D: Differential>(
    seed: u64,
    mut next: impl FnMut(&mut D) -> Option<D::Step>,
    met: &mut BTreeMap<String, usize>,
) -> Result<(), Difference<D>> {
    let mut taken = Vec::new();
    let story = async {
        let mut pair = D::open(seed).await?;
        while let Some(step) = next(&mut pair) {
            taken.push(step.clone());
            count::<D>(&pair.play(&step).await?, met);
            if taken.len().is_multiple_of(CHECK_EVERY) {
                pair.check().await?;
            }
        }
        pair.check().await?;
        pair.finish().await
    };
    let result = story.await;
    result.map_err(|error| Difference { taken, error })
}

fn count<D: Differential>(reply: &str, met: &mut BTreeMap<String, usize>) {
    let mut words = reply.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let call = words.next().unwrap_or_default();
    for kind in words.map(|word| format!("{call} {word}")).filter(|kind| D::REPLIES.contains(&kind.as_str())) {
        *met.entry(kind).or_default() += 1;
    }
}

/// Leaves out ever smaller parts that are not needed to show a difference.
async fn shorten<D: Differential>(seed: u64, mut found: Difference<D>) -> Difference<D> {
    let (mut part, mut from, mut spent) = (found.taken.len() / 2, 0, 0);
    while part > 0 && spent < SHORTEN_STEPS_MAX {
        let until = (from + part).min(found.taken.len());
        let candidate = [&found.taken[..from], &found.taken[until..]].concat();
        spent += candidate.len();
        let mut steps = candidate.into_iter();
        match run::<D>(seed, |_| steps.next(), &mut BTreeMap::new()).await {
            Err(shorter) => found = shorter,
            Ok(()) => from += part,
        }
        if from >= found.taken.len() {
            (part, from) = (part / 2, 0);
        }
    }
    found
}
