//! What a bucket has admitted, and the check of promise M1 in every interval.

use super::rig::{rate, window};
use anyhow::{Result, ensure};
use evenkeel::limit::Quota;
use rand::Rng;

/// The bounds of a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounds {
    /// So many tokens in so many ms, and a burst.
    Rate(u32, u64, u32),
    /// At most so many tokens in so many ms.
    Window(u32, u64),
}

/// What a bucket has admitted: tokens, each with the time at which they count.
#[derive(Clone, Debug)]
pub struct Ledger {
    bounds: Bounds,
    admitted: Vec<(u64, u32)>,
}

impl Bounds {
    /// Any rate.
    pub fn any_rate(random: &mut impl Rng) -> Self {
        loop {
            let tokens =
                if random.random_bool(0.2) { random.random_range(8..5_000) } else { random.random_range(1..8) };
            let period_ms = [1, 7, 10, 1_000, 3_001, 60_000][random.random_range(0..6)];
            let bounds = Self::Rate(tokens, period_ms, random.random_range(1..12));
            if bounds.quota().check().is_ok() {
                return bounds;
            }
        }
    }

    /// Any window.
    pub fn any_window(random: &mut impl Rng) -> Self {
        let period_ms = [10, 50, 1_000, 7_770, 60_000][random.random_range(0..5)];
        Self::Window(random.random_range(1..9), period_ms)
    }

    /// The quota with these bounds.
    #[must_use]
    pub fn quota(self) -> Quota {
        match self {
            Self::Rate(tokens, period_ms, burst) => rate(tokens, period_ms, burst),
            Self::Window(tokens, period_ms) => window(tokens, period_ms),
        }
    }
}

impl Ledger {
    /// Nothing was admitted yet.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        Self { bounds, admitted: Vec::new() }
    }

    /// The bounds.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Adds an admission.
    pub fn add(&mut self, time: u64, tokens: u32) {
        self.admitted.push((time, tokens));
    }

    /// Checks every interval, from each admission to each later one.
    ///
    /// # Errors
    /// More was admitted in an interval than the bounds allow.
    pub fn check(&mut self) -> Result<()> {
        self.admitted.sort_unstable();
        for (place, (from, _)) in self.admitted.iter().enumerate() {
            let mut sum = 0;
            let later = &self.admitted[place..];
            for (at, (to, tokens)) in later.iter().enumerate() {
                sum += i128::from(*tokens);
                // Admissions of the same time belong to the same interval.
                if later.get(at + 1).is_some_and(|(next, _)| next == to) {
                    continue;
                }
                let length = i128::from(to - from);
                let is_within = match self.bounds {
                    Bounds::Rate(tokens, period_ms, burst) => {
                        (sum - i128::from(burst)) * i128::from(period_ms) <= i128::from(tokens) * length
                    }
                    Bounds::Window(tokens, period_ms) => length > i128::from(period_ms) || sum <= i128::from(tokens),
                };
                ensure!(is_within, "{:?} admitted {sum} in {length} ms from {from}: {later:?}", self.bounds);
            }
        }
        Ok(())
    }
}
