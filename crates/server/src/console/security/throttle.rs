//! [`Throttle`]: slows down failed logins.
//!
//! It counts the failures of all addresses together: behind a proxy all have one address, and a right token is never delayed, so nobody can
//! lock out another visitor.

use parking_lot::Mutex;
use std::time::{Duration, Instant};

const FIRST: Duration = Duration::from_secs(1);
const LAST: Duration = Duration::from_secs(900);
/// Failures that cost nothing: people mistype.
const FREE: u32 = 3;

#[derive(Default)]
pub(super) struct Throttle(Mutex<State>);

#[derive(Default)]
struct State {
    failures: u32,
    until: Option<Instant>,
}

impl Throttle {
    /// Counts a failure now. `Some`: the caller has to wait for this time, and the failure was not counted.
    pub(super) fn fail(&self) -> Option<Duration> {
        self.fail_at(Instant::now())
    }

    fn fail_at(&self, now: Instant) -> Option<Duration> {
        let mut state = self.0.lock();
        if let Some(until) = state.until.filter(|until| *until > now) {
            return Some(until - now);
        }
        // A quiet quarter of an hour forgets the failures.
        if state.until.is_some_and(|until| now - until > LAST) {
            state.failures = 0;
        }
        state.failures = state.failures.saturating_add(1);
        let doubled = state.failures.saturating_sub(FREE).min(10);
        let pause = if state.failures <= FREE { Duration::ZERO } else { (FIRST * 2_u32.pow(doubled - 1)).min(LAST) };
        state.until = Some(now + pause);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_wait_longer_and_longer() {
        let (throttle, start) = (Throttle::default(), Instant::now());
        let mut now = start;
        for _ in 0..FREE + 1 {
            assert_eq!(throttle.fail_at(now), None);
        }
        assert_eq!(throttle.fail_at(now), Some(FIRST));
        now += FIRST;
        assert_eq!(throttle.fail_at(now), None);
        assert_eq!(throttle.fail_at(now), Some(FIRST * 2));
        for _ in 0..20 {
            now += LAST;
            throttle.fail_at(now);
        }
        assert_eq!(throttle.fail_at(now), Some(FIRST * 512));
        now += LAST * 3;
        assert_eq!((throttle.fail_at(now), throttle.fail_at(now)), (None, None), "forgotten");
    }
}
