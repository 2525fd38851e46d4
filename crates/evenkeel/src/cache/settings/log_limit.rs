//! A rate limit for log lines that one bad entry or value would repeat at every read.

use evenkeel_link::clock::Moment;
use evenkeel_link::support::guard;
use parking_lot::Mutex;
use std::time::Duration;

/// The least time between two lines.
const INTERVAL: Duration = Duration::from_secs(60);

/// Allows one line per interval, and counts the suppressed ones.
#[derive(Debug, Default)]
pub(crate) struct LogLimit(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    next: Option<Moment>,
    count: u64,
}

impl LogLimit {
    /// Returns the number of occurrences since the last line, this one included, if a line is due now.
    pub(crate) fn line_due(&self, now: Moment) -> Option<u64> {
        let mut state = self.0.lock();
        state.count += 1;
        if state.next.is_some_and(|next| now < next) && guard("cache_log_limited") {
            return None;
        }
        state.next = Some(now + INTERVAL);
        Some(std::mem::take(&mut state.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_link::clock::TestClock;

    #[test]
    fn one_line_an_interval_counts_the_others() {
        let (clock, limit) = (TestClock::default(), LogLimit::default());
        let due = || limit.line_due(clock.clock().now());
        assert_eq!([due(), due(), due()], [Some(1), None, None]);
        clock.advance(INTERVAL);
        assert_eq!([due(), due()], [Some(3), None]);
    }
}
