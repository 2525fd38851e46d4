//! Plays rounds, one after another, and reports what they tried.

use super::round::{Counts, Record, Round};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use serde::Serialize;
use std::panic::{AssertUnwindSafe, PanicHookInfo};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The longest time of a round on a busy machine. A round that takes longer waits for something that never happens.
const ROUND_MAX: Duration = Duration::from_secs(240);
/// The newest steps that a violation prints.
const STEPS_MAX: usize = 60;

/// One kind of misuse of one capability.
pub(crate) struct Suite {
    pub(crate) kind: &'static str,
    pub(crate) capability: &'static str,
    pub(crate) play: fn(Round) -> LocalBoxFuture<'static, ()>,
}

/// What the rounds of a suite tried.
#[derive(Debug, Serialize)]
pub(crate) struct Tally {
    kind: &'static str,
    capability: &'static str,
    first_seed: u64,
    rounds: u64,
    calls: u64,
    accepted: u64,
    refused: u64,
    misbehaviors: u64,
    checks: u64,
    pub(crate) violations: u64,
}

impl Tally {
    pub(crate) fn new(suite: &Suite, first_seed: u64) -> Self {
        let Suite { kind, capability, .. } = *suite;
        let (rounds, calls, accepted, refused, misbehaviors, checks, violations) = (0, 0, 0, 0, 0, 0, 0);
        Self { kind, capability, first_seed, rounds, calls, accepted, refused, misbehaviors, checks, violations }
    }

    fn add(&mut self, counts: Counts) {
        self.rounds += 1;
        self.calls += counts.calls;
        self.accepted += counts.accepted;
        self.refused += counts.refused;
        self.misbehaviors += counts.misbehaviors;
        self.checks += counts.checks;
    }

    /// Plays the round of this seed.
    pub(crate) async fn play(&mut self, suite: &Suite, seed: u64) {
        let record = Arc::new(Mutex::new(Record::default()));
        let round = AssertUnwindSafe((suite.play)(Round::new(seed, &record))).catch_unwind();
        let violation = match tokio::time::timeout(ROUND_MAX, round).await {
            Ok(Ok(())) => None,
            Ok(Err(panic)) => Some(panic_text(&*panic)),
            Err(_) => Some(format!("the round did not end within {ROUND_MAX:?}")),
        };
        let record = record.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.add(record.counts);
        if let Some(violation) = violation {
            self.violations += 1;
            let kind = self.kind;
            eprintln!("{kind} of {}, seed {seed}: {violation}", self.capability);
            eprintln!(
                "`cargo xtask sim robustness --only {kind} --seed {seed} --rounds 1` plays it again. The last steps:"
            );
            for step in &record.steps[record.steps.len().saturating_sub(STEPS_MAX)..] {
                eprintln!("  {}", step.chars().take(300).collect::<String>());
            }
        }
    }

    pub(crate) fn has_tried_something(&self) -> bool {
        self.calls + self.misbehaviors >= self.rounds && self.checks > 0
    }
}

/// How long a long run goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Length {
    Rounds(u64),
    Minutes(u64),
}

/// Plays rounds of the suites in turn; suite by suite, what they tried.
pub(crate) async fn play_all(suites: &[&Suite], first_seed: u64, length: Length) -> Vec<Tally> {
    std::panic::set_hook(Box::new(report));
    let began = Instant::now();
    let mut all: Vec<Tally> = suites.iter().map(|suite| Tally::new(suite, first_seed)).collect();
    for number in 0.. {
        let is_over = match length {
            Length::Rounds(rounds) => number >= rounds,
            Length::Minutes(minutes) => began.elapsed() >= Duration::from_secs(minutes * 60),
        };
        if is_over {
            break;
        }
        for (suite, tally) in suites.iter().zip(&mut all) {
            tally.play(suite, first_seed + number).await;
        }
        let violations = all.iter().map(|tally| tally.violations).sum::<u64>();
        eprintln!("{} rounds of each suite, {violations} violations, {} s", number + 1, began.elapsed().as_secs());
    }
    all
}

/// Prints a panic, unless it is one of the hostile user code.
fn report(panic: &PanicHookInfo<'_>) {
    let text = panic_text(panic.payload());
    if !["panics", "on purpose", "when dropped", "non-string"].iter().any(|part| text.contains(part)) {
        eprintln!("{panic}");
    }
}

pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
        .unwrap_or_else(|| "non-string panic".to_owned())
}
