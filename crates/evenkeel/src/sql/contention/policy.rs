//! [`ConflictPolicy`]: how often a transaction is retried after a conflict.

use evenkeel_link::support::Backoff;
use std::time::Duration;

/// The upper limit of both delays.
const DELAY_MAX: Duration = Duration::from_secs(24 * 3600);

/// How often a transaction is retried after a conflict, with exponential backoff and jitter: the delay doubles with each attempt, and
/// is chosen at random between half of it and the whole, so that conflicting transactions do not retry at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a policy does nothing until a transaction is retried with it"]
pub struct ConflictPolicy {
    pub(super) attempts_max: u32,
    delay_min: Duration,
    delay_max: Duration,
}

impl Default for ConflictPolicy {
    /// Ten attempts, with delays that grow from 5 ms to 250 ms.
    fn default() -> Self {
        Self { attempts_max: 10, delay_min: Duration::from_millis(5), delay_max: Duration::from_millis(250) }
    }
}

impl ConflictPolicy {
    /// The maximum number of attempts, including the first; at least 1.
    pub fn attempts(mut self, attempts_max: u32) -> Self {
        self.attempts_max = attempts_max.max(1);
        self
    }

    /// The first and the longest delay; each is limited to a day.
    pub fn delays(mut self, delay_min: Duration, delay_max: Duration) -> Self {
        self.delay_min = delay_min.min(DELAY_MAX);
        self.delay_max = delay_max.clamp(self.delay_min, DELAY_MAX);
        self
    }

    /// The delay after attempt `attempt`, counted from 0.
    pub(super) fn delay(&self, attempt: u32) -> Duration {
        Backoff { delay_min: self.delay_min, delay_max: self.delay_max }.delay(attempt)
    }
}
