//! Delays between attempts: exponential with full jitter, bounded.

use std::time::Duration;

/// How long to wait before the next attempt of something that failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    pub(crate) delay_min: Duration,
    pub(crate) delay_max: Duration,
}

impl Backoff {
    /// The delay before attempt `attempt + 1` (attempts count from 0): between half of and the whole exponential step,
    /// so that processes that lost the same server do not come back in one wave.
    pub(crate) fn delay(&self, attempt: u32) -> Duration {
        let step = self.delay_min.saturating_mul(1_u32 << attempt.min(16)).min(self.delay_max);
        step.mul_f64(0.5 + rand::random::<f64>() / 2.0)
    }
}
