//! [`Quota`]: how much one subject of a level may use.

use std::time::Duration;

/// The most tokens of a quota.
pub const TOKENS_MAX: u32 = 1_000_000;
/// The longest period of a quota, in ms: 31 days.
pub const PERIOD_MS_MAX: u64 = 31 * 86_400_000;
/// The longest wait of a reservation, in ms: an hour.
pub const WAIT_MS_MAX: u64 = 3_600_000;
/// The most levels of a limit.
pub const LEVELS_MAX: usize = 8;

/// The most units of a debt. Lua has whole numbers up to 2^53.
pub(super) const DEBT_MAX: u64 = 1 << 52;
/// The most units of a burst. With the longest wait of a reservation a debt stays below [`DEBT_MAX`].
const BURST_UNITS_MAX: u64 = 1 << 50;
/// How many slots a window has. One more slot is counted, because an interval of its length may begin and end within slots.
pub(super) const SLOTS: u64 = 10;

/// How much one subject of a level may use: a [`Rate`] or a [`Window`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Quota {
    /// So many tokens in a period, evenly, and a burst.
    Rate(Rate),
    /// At most so many tokens in every interval of a length.
    Window(Window),
}

/// A rate with a burst: a token bucket, whose tokens are refilled evenly (the generic cell rate algorithm).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a rate does nothing until a level has it"]
pub struct Rate {
    tokens: u32,
    period: Duration,
    burst: u32,
}

/// A sliding window: at most so many tokens in every interval of its length. It costs more memory than a [`Rate`], and one that is always used
/// admits up to an eleventh less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a window does nothing until a level has it"]
pub struct Window {
    tokens: u32,
    period: Duration,
}

impl Rate {
    /// `tokens` in each `period`, and as many at once. 1 to 1,000,000 tokens; whole milliseconds, up to 31 days.
    pub fn new(tokens: u32, period: Duration) -> Self {
        Self { tokens, period, burst: tokens }
    }

    /// How many tokens may be used at once after a pause: 1 to 1,000,000, and at least what one millisecond refills. Default: the tokens of a period.
    pub fn burst(mut self, tokens: u32) -> Self {
        self.burst = tokens;
        self
    }

    /// What a millisecond refills and what a token costs, as the smallest whole numbers of units.
    pub(super) fn units(&self) -> Units {
        let (refill, token) = (u64::from(self.tokens), period_ms(self.period));
        let divisor = greatest_common_divisor(refill, token).max(1);
        Units { refill: (refill / divisor).max(1), token: (token / divisor).max(1), burst: self.burst }
    }

    fn check(&self) -> Result<(), String> {
        check_tokens("a rate", self.tokens)?;
        check_period(self.period)?;
        check_tokens("a burst", self.burst)?;
        let units = self.units();
        if units.burst_units() < units.refill {
            return Err(format!(
                "a burst of {} is less than the {} tokens in {:?} refill in a millisecond, so that they would be lost; raise the burst",
                self.burst, self.tokens, self.period
            ));
        }
        if units.burst_units() > BURST_UNITS_MAX {
            return Err(format!(
                "a burst of {} is too large for {} tokens in {:?}; lower the burst or shorten the period",
                self.burst, self.tokens, self.period
            ));
        }
        Ok(())
    }
}

impl Window {
    /// At most `tokens` in every interval of length `period`. 1 to 1,000,000 tokens; a multiple of 10 ms, up to 31 days.
    pub fn new(tokens: u32, period: Duration) -> Self {
        Self { tokens, period }
    }

    /// The length of a slot.
    pub(super) fn slot_ms(&self) -> u64 {
        (period_ms(self.period) / SLOTS).max(1)
    }

    /// The most tokens.
    pub(super) fn tokens(&self) -> u32 {
        self.tokens
    }

    fn check(&self) -> Result<(), String> {
        check_tokens("a window", self.tokens)?;
        check_period(self.period)?;
        if !period_ms(self.period).is_multiple_of(SLOTS) {
            return Err(format!("the period of a window is a multiple of {SLOTS} ms, which {:?} is not", self.period));
        }
        Ok(())
    }
}

/// A rate in units: both are whole numbers, so nothing is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Units {
    /// What a millisecond refills.
    pub(super) refill: u64,
    /// What a token costs.
    pub(super) token: u64,
    /// The most tokens at once.
    pub(super) burst: u32,
}

impl Units {
    /// The burst, in units.
    pub(super) fn burst_units(&self) -> u64 {
        u64::from(self.burst).saturating_mul(self.token)
    }
}

impl Quota {
    /// The most tokens that one call can get.
    #[must_use]
    pub fn tokens_at_once(&self) -> u32 {
        match self {
            Self::Rate(rate) => rate.burst,
            Self::Window(window) => window.tokens,
        }
    }

    /// The share of one of `instances` that divide the quota: at least one token.
    #[must_use]
    pub fn share(&self, instances: u32) -> Self {
        let instances = instances.max(1);
        match *self {
            Self::Rate(rate) => {
                let burst = (rate.burst / instances).max(1);
                // A longer period keeps the rate exact. If it would be too long, the tokens are divided, rounded down.
                let period = rate.period.saturating_mul(instances);
                if period_ms(period) <= PERIOD_MS_MAX {
                    return Self::Rate(Rate { period, burst, ..rate });
                }
                Self::Rate(Rate { tokens: (rate.tokens / instances).max(1), burst, ..rate })
            }
            Self::Window(window) => Self::Window(Window { tokens: (window.tokens / instances).max(1), ..window }),
        }
    }

    /// Checks it.
    ///
    /// # Errors
    /// One sentence.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Self::Rate(rate) => rate.check(),
            Self::Window(window) => window.check(),
        }
    }
}

impl From<Rate> for Quota {
    fn from(rate: Rate) -> Self {
        Self::Rate(rate)
    }
}

impl From<Window> for Quota {
    fn from(window: Window) -> Self {
        Self::Window(window)
    }
}

fn check_tokens(what: &str, tokens: u32) -> Result<(), String> {
    if tokens == 0 || tokens > TOKENS_MAX {
        return Err(format!("{what} of {tokens} tokens; it must be 1 to {TOKENS_MAX}"));
    }
    Ok(())
}

fn check_period(period: Duration) -> Result<(), String> {
    let ms = period_ms(period);
    if ms == 0 || ms > PERIOD_MS_MAX || !period.subsec_nanos().is_multiple_of(1_000_000) {
        return Err(format!("a period of {period:?}; it must be whole milliseconds, from 1 ms to 31 days"));
    }
    Ok(())
}

fn period_ms(period: Duration) -> u64 {
    u64::try_from(period.as_millis()).unwrap_or(u64::MAX)
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::{PERIOD_MS_MAX, Quota, Rate, TOKENS_MAX, Units, Window};
    use std::time::Duration;

    const SECOND: Duration = Duration::from_secs(1);

    // shows: hazard LI1
    #[test]
    fn rate_is_reduced_to_whole_units() {
        assert_eq!(Rate::new(3, SECOND).units(), Units { refill: 3, token: 1_000, burst: 3 });
        assert_eq!(Rate::new(100, SECOND).burst(7).units(), Units { refill: 1, token: 10, burst: 7 });
        assert_eq!(Rate::new(5_000, SECOND).units(), Units { refill: 5, token: 1, burst: 5_000 });
    }

    #[test]
    fn quotas_outside_of_their_bounds_are_rejected() {
        let longest = Duration::from_millis(PERIOD_MS_MAX);
        let bad: [Quota; 12] = [
            Rate::new(0, SECOND).into(),
            Rate::new(TOKENS_MAX + 1, SECOND).into(),
            Rate::new(1, SECOND).burst(0).into(),
            Rate::new(1, SECOND).burst(TOKENS_MAX + 1).into(),
            Rate::new(1, Duration::ZERO).into(),
            Rate::new(1, Duration::from_micros(1_500)).into(),
            Rate::new(1, longest + Duration::from_millis(1)).into(),
            Rate::new(1, Duration::MAX).into(),
            Rate::new(5_000, SECOND).burst(4).into(),
            Rate::new(999_983, longest).into(),
            Window::new(0, SECOND).into(),
            Window::new(1, Duration::from_millis(1_005)).into(),
        ];
        for quota in bad {
            assert!(quota.check().is_err(), "{quota:?}");
        }
        let good: [Quota; 5] = [
            Rate::new(TOKENS_MAX, SECOND).into(),
            Rate::new(5_000, SECOND).burst(5).into(),
            Rate::new(100_000, longest).into(),
            Window::new(TOKENS_MAX, longest).into(),
            Window::new(1, Duration::from_millis(10)).into(),
        ];
        for quota in good {
            assert_eq!(quota.check(), Ok(()), "{quota:?}");
        }
    }

    /// Together the shares are at most the quota, if each has a token of it.
    // shows: M3
    #[test]
    fn shares_of_a_quota_are_within_it() {
        for instances in [1, 2, 3, 7] {
            let Quota::Rate(share) = Quota::Rate(Rate::new(100, SECOND).burst(50)).share(instances) else {
                unreachable!()
            };
            assert_eq!((share.tokens, share.period), (100, SECOND * instances));
            assert!(share.burst * instances <= 50);
            let Quota::Window(share) = Quota::Window(Window::new(50, SECOND)).share(instances) else { unreachable!() };
            assert!(share.tokens * instances <= 50);
        }
        assert_eq!(Quota::Rate(Rate::new(2, SECOND)).share(5).tokens_at_once(), 1, "at least one token");
        let Quota::Rate(share) = Quota::Rate(Rate::new(90, Duration::from_millis(PERIOD_MS_MAX))).share(2) else {
            unreachable!()
        };
        assert_eq!((share.tokens, share.burst), (45, 45));
    }
}
