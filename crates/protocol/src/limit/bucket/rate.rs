//! The bucket of a rate.

use crate::limit::quota::{DEBT_MAX, Units};
use evenkeel_link::support::guard;

/// The bucket of a rate: its debt, in units, at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::limit) struct RateBucket {
    at: u64,
    debt: u64,
    /// What a token cost when it was written.
    token: u64,
}

impl RateBucket {
    /// A full bucket.
    pub(super) fn new(units: Units, now: u64) -> Self {
        Self { at: now, debt: 0, token: units.token }
    }

    pub(super) fn is_from_future(&self, now: u64) -> bool {
        self.at > now
    }

    /// The bucket at `now`. One from the future was written before the clock was set back: it has the same debt now.
    pub(super) fn at(self, units: Units, now: u64) -> Self {
        let mut debt = self.debt;
        if self.token != units.token && guard("model_limit_quota_changed") {
            // In whole tokens of the other quota, rounded up.
            debt = debt.div_ceil(self.token).min(DEBT_MAX / units.token) * units.token;
        }
        let refill = now.saturating_sub(self.at).saturating_mul(units.refill);
        Self { at: now, debt: debt.saturating_sub(refill), token: units.token }
    }

    /// In how many milliseconds there are so many tokens, if no other call comes first.
    pub(super) fn wait_ms(&self, units: Units, tokens: u32) -> u64 {
        (self.debt + u64::from(tokens) * units.token).saturating_sub(units.burst_units()).div_ceil(units.refill)
    }

    /// Takes tokens in so many milliseconds; returns how many are left then.
    pub(super) fn debit(&mut self, units: Units, tokens: u32, wait_ms: u64) -> u64 {
        // What is refilled until then is not available afterwards: the tokens are taken at that time, not now.
        let refilled = wait_ms * units.refill;
        if guard("model_limit_debit_at_its_time") {
            self.debt = self.debt.max(refilled);
        }
        self.debt += u64::from(tokens) * units.token;
        units.burst_units().saturating_sub(self.debt.saturating_sub(refilled)) / units.token
    }

    /// When it is full again.
    pub(super) fn full_ms(&self, units: Units) -> u64 {
        self.at + self.debt.div_ceil(units.refill)
    }
}
