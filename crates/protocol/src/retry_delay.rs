//! The delay between the attempts of a job or an entry.

use evenkeel_link::support::ms;
use std::time::Duration;

/// The delay between a failed attempt and the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryDelay {
    /// A constant delay.
    Fixed {
        /// In ms.
        ms: u64,
    },
    /// A random delay below a bound that doubles with every failure (exponential backoff with full jitter, so that jobs that failed
    /// together are not retried together).
    Exponential {
        /// The bound after the first failure, in ms.
        first_ms: u64,
        /// The maximum of the bound, in ms.
        max_ms: u64,
    },
}

impl Default for RetryDelay {
    /// Below 2 s after the first failure, below one hour at most.
    fn default() -> Self {
        Self::Exponential { first_ms: 2_000, max_ms: 3_600_000 }
    }
}

impl RetryDelay {
    /// A constant delay.
    #[must_use]
    pub fn fixed(delay: Duration) -> Self {
        Self::Fixed { ms: ms(delay) }
    }

    /// A random delay below `first`, doubled with every failure, but never above `max`.
    #[must_use]
    pub fn exponential(first: Duration, max: Duration) -> Self {
        Self::Exponential { first_ms: ms(first), max_ms: ms(max) }
    }

    /// The delay in ms after failure `failures` (counted from 1).
    pub fn after(&self, failures: u32) -> u64 {
        match *self {
            Self::Fixed { ms } => ms,
            Self::Exponential { .. } => rand::random_range(0..=self.bound(failures)),
        }
    }

    /// The longest possible delay, in ms.
    pub fn ms_max(&self) -> u64 {
        match *self {
            Self::Fixed { ms } => ms,
            Self::Exponential { first_ms, max_ms } => first_ms.max(max_ms),
        }
    }

    fn bound(&self, failures: u32) -> u64 {
        match *self {
            Self::Fixed { ms } => ms,
            Self::Exponential { first_ms, max_ms } => {
                let doubled = 1_u64 << failures.saturating_sub(1).min(40);
                first_ms.saturating_mul(doubled).min(max_ms)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RetryDelay;
    use std::time::Duration;

    #[test]
    fn retry_delay_doubles_up_to_its_limit() {
        let delay = RetryDelay::exponential(Duration::from_secs(1), Duration::from_secs(60));
        for (failures, bound) in [(0, 1_000), (1, 1_000), (2, 2_000), (6, 32_000), (7, 60_000), (u32::MAX, 60_000)] {
            assert_eq!(delay.bound(failures), bound, "after {failures} failures");
            assert!(delay.after(failures) <= bound);
        }
    }

    #[test]
    fn retry_delay_has_jitter() {
        let delay = RetryDelay::default();
        let delays: std::collections::HashSet<u64> = (0..64).map(|_| delay.after(3)).collect();
        assert!(delays.len() > 32, "{delays:?}");
    }
}
