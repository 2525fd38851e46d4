//! A circuit breaker for each destination: while it is unavailable nothing is sent to it, which uses no attempts. After a delay a
//! single call tests whether it is available again.

use super::settings::UNAVAILABLE;
use evenkeel_link::clock::Moment;
use evenkeel_link::support::guard;
use std::time::Duration;

/// The circuit breaker of one destination.
#[derive(Debug, Default)]
pub(super) struct Gate {
    closed_until: Option<Moment>,
    failures: u32,
}

impl Gate {
    /// How long the gate stays closed; `None` if it is open.
    pub(super) fn closed_for(&self, now: Moment) -> Option<Duration> {
        let left = self.closed_until?.since(now);
        (!left.is_zero() && guard("relay_gate")).then_some(left)
    }

    /// Whether the destination was unavailable at the last call: then a single row is sent to test it.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.failures > 0
    }

    /// Lets the next call test the destination without waiting any longer.
    pub(super) fn reopen(&mut self) {
        self.closed_until = None;
    }

    /// Puts first the row that tests the destinations of these gates: at first the one that is first already, and after each test in
    /// vain the next one. Otherwise a row for which its sink always reports that it is unavailable would be the only one tested.
    pub(super) fn next_in_turn<'a, T>(gates: impl Iterator<Item = &'a Self>, rows: &mut [T]) {
        let in_vain = gates.map(|gate| gate.failures.saturating_sub(1)).max().unwrap_or(0);
        if !rows.is_empty() && guard("relay_tests_in_turn") {
            rows.rotate_left(usize::try_from(in_vain).unwrap_or(0) % rows.len());
        }
    }

    /// Closes the gate after a call found the destination unavailable. Returns for how long.
    pub(super) fn close(&mut self, now: Moment) -> Duration {
        let pause = UNAVAILABLE.delay(self.failures);
        self.failures = self.failures.saturating_add(1);
        self.closed_until = Some(now + pause);
        pause
    }
}
