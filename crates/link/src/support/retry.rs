//! Exponential backoff with an upper limit and jitter over the upper half.

use std::time::Duration;

/// The delays between the attempts of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// The delay before the second attempt, without jitter.
    pub delay_min: Duration,
    /// The longest delay.
    pub delay_max: Duration,
}

impl Backoff {
    /// The delay before attempt `attempt + 1` (attempts count from 0): between half of and the full exponential step,
    /// so that processes that lost the same server do not reconnect at the same time.
    pub fn delay(&self, attempt: u32) -> Duration {
        let step = self.delay_min.saturating_mul(1_u32 << attempt.min(16)).min(self.delay_max);
        step.mul_f64(0.5 + rand::random::<f64>() / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Backoff;
    use std::time::Duration;

    const BACKOFF: Backoff = Backoff { delay_min: Duration::from_millis(20), delay_max: Duration::from_secs(1) };

    #[test]
    fn reconnect_delay_doubles_up_to_its_limit() {
        for (attempt, step_ms) in [(0, 20), (1, 40), (5, 640), (6, 1000), (40, 1000), (u32::MAX, 1000)] {
            let delay = BACKOFF.delay(attempt);
            let step = Duration::from_millis(step_ms);
            assert!(delay >= step / 2 && delay <= step, "attempt {attempt}: {delay:?}");
        }
    }

    #[test]
    fn reconnect_delays_of_two_processes_differ() {
        let delays: std::collections::HashSet<Duration> = (0..32).map(|_| BACKOFF.delay(6)).collect();
        assert!(delays.len() > 16, "{delays:?}");
    }
}
