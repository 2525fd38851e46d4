//! Back-pressure: while the other side is away nothing is claimed for it. No attempt is burnt, and when it comes back one batch
//! finds out.

use super::settings::AWAY;
use evenkeel_link::clock::Moment;
use evenkeel_link::support::guard;
use std::time::Duration;

/// The gate towards one destination.
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

    /// Whether the last answer was that nobody is there: then one row is enough to ask with.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.failures > 0
    }

    /// The other side took nothing at all. Answers for how long it is left alone.
    pub(super) fn closed(&mut self, now: Moment) -> Duration {
        let pause = AWAY.delay(self.failures);
        self.failures = self.failures.saturating_add(1);
        self.closed_until = Some(now + pause);
        pause
    }
}
