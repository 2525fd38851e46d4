//! One round: the random choices of one seed, the steps that they led to, and the counts of their results.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};

/// The results of a round.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Calls with drawn parameters.
    pub(crate) calls: u64,
    pub(crate) accepted: u64,
    /// Calls that were refused with an error.
    pub(crate) refused: u64,
    /// Injected misbehaviors of user code, of other programs or of the store.
    pub(crate) misbehaviors: u64,
    /// Results of well-behaved work, or of the library's reports, that were compared with what they must be.
    pub(crate) checks: u64,
}

/// The choices of a round. Clones draw other numbers, and write to the same record.
pub(crate) struct Round {
    pub(crate) random: StdRng,
    pub(crate) seed: u64,
    record: Arc<Mutex<Record>>,
}

#[derive(Default)]
pub(crate) struct Record {
    pub(crate) steps: Vec<String>,
    pub(crate) counts: Counts,
}

impl Round {
    pub(crate) fn new(seed: u64, record: &Arc<Mutex<Record>>) -> Self {
        Self { random: StdRng::seed_from_u64(seed), seed, record: Arc::clone(record) }
    }

    /// Whether this round runs on Redis; otherwise on the embedded store.
    pub(crate) fn is_on_redis(&self) -> bool {
        self.seed % 2 == 1
    }

    /// One of these.
    pub(crate) fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.random.random_range(0..of.len())]
    }

    /// A number of this range.
    pub(crate) fn number(&mut self, from: u64, to: u64) -> u64 {
        self.random.random_range(from..=to)
    }

    /// `true` in so many of a hundred cases.
    pub(crate) fn chance(&mut self, percent: u32) -> bool {
        self.random.random_ratio(percent, 100)
    }

    /// A builder with so many changes of this table, and their names.
    pub(crate) fn change<B, F: Fn(B) -> B>(
        &mut self,
        mut builder: B,
        table: &[(String, F)],
        count: RangeInclusive<u64>,
    ) -> (B, String) {
        let mut names = Vec::new();
        for _ in 0..self.random.random_range(count) {
            let (name, change) = self.one(table);
            builder = change(builder);
            names.push(name.as_str());
        }
        (builder, names.join(", "))
    }

    /// Notes a step.
    pub(crate) fn step(&self, step: impl Into<String>) {
        self.record.lock().unwrap().steps.push(step.into());
    }

    /// Notes an injected misbehavior.
    pub(crate) fn misbehaves(&self, step: impl Into<String>) {
        self.step(step);
        self.record.lock().unwrap().counts.misbehaviors += 1;
    }

    /// Counts results that were as they must be; the number of all of them.
    pub(crate) fn checked(&self, results: u64) -> u64 {
        let checks = &mut self.record.lock().unwrap().counts.checks;
        *checks += results;
        *checks
    }

    /// The value of a call with drawn parameters; `None` if it was refused. Any other error fails the round.
    pub(crate) fn result<T, E: Display>(
        &self,
        call: impl Into<String>,
        result: Result<T, E>,
        is_refusal: impl FnOnce(&E) -> bool,
    ) -> Option<T> {
        let call = call.into();
        let mut record = self.record.lock().unwrap();
        record.counts.calls += 1;
        match result {
            Ok(value) => {
                record.counts.accepted += 1;
                record.steps.push(call);
                Some(value)
            }
            Err(error) => {
                let text = error.to_string();
                record.steps.push(format!("{call}: {text}"));
                record.counts.refused += 1;
                drop(record);
                assert!(is_refusal(&error), "`{call}` failed: {text}");
                assert!(text.len() > 15 && !text.contains('\n'), "`{call}` was refused without a sentence: {text:?}");
                None
            }
        }
    }
}
