//! [`ConflictPolicy`]: how often work is done again.

use evenkeel_link::support::Backoff;
use std::time::Duration;

/// Longer than anybody waits for a row.
const DELAY_MAX: Duration = Duration::from_secs(24 * 3600);

/// How often work that met a conflict is done again, and after which pauses. Each pause is between half of and the whole of a step that
/// doubles each time, so that those who met do not meet again in step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a policy does nothing until work is done under it"]
pub struct ConflictPolicy {
    pub(super) attempts_max: u32,
    delay_min: Duration,
    delay_max: Duration,
}

impl Default for ConflictPolicy {
    /// Ten attempts, with pauses that grow from 5 ms to 250 ms.
    fn default() -> Self {
        Self { attempts_max: 10, delay_min: Duration::from_millis(5), delay_max: Duration::from_millis(250) }
    }
}

impl ConflictPolicy {
    /// How often the work is done at most, the first time included: at least 1.
    pub fn attempts(mut self, attempts_max: u32) -> Self {
        self.attempts_max = attempts_max.max(1);
        self
    }

    /// The first pause, and the longest; each counts as at most a day.
    pub fn delays(mut self, delay_min: Duration, delay_max: Duration) -> Self {
        self.delay_min = delay_min.min(DELAY_MAX);
        self.delay_max = delay_max.clamp(self.delay_min, DELAY_MAX);
        self
    }

    /// The pause after attempt `attempt`, which counts from 0.
    pub(super) fn delay(&self, attempt: u32) -> Duration {
        Backoff { delay_min: self.delay_min, delay_max: self.delay_max }.delay(attempt)
    }
}
