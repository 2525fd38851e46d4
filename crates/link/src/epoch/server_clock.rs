//! An estimate of Redis's time between two replies to `TIME`.

use crate::clock::{Clock, Moment};
use parking_lot::Mutex;
use redis::Value;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

/// How fast a sample becomes uncertain: 1 ms for each 10 s of age, more than the drift of a quartz.
const DRIFT: u32 = 10_000;

/// The offset between Redis's clock and the process's clock.
pub(crate) struct ServerClock {
    clock: Clock,
    sample: Mutex<Sample>,
    /// Server time minus the process's time, in microseconds: the only field that [`ms_at`](Self::ms_at) reads, at every cache hit.
    ahead_us: AtomicI64,
}

/// One reply to `TIME`.
#[derive(Clone, Copy)]
struct Sample {
    /// The midpoint between request and reply.
    at: Moment,
    server: Duration,
    /// Half the round trip: the server read its clock at most this long before or after `at`.
    uncertainty: Duration,
}

impl ServerClock {
    /// Until the first sample this machine's wall clock is used.
    pub(crate) fn new(clock: Clock) -> Self {
        let sample =
            Sample { at: clock.now(), server: Duration::from_millis(clock.unix_ms()), uncertainty: Duration::MAX };
        Self { clock, sample: Mutex::new(sample), ahead_us: AtomicI64::new(sample.ahead_us()) }
    }

    /// Redis's time in ms since 1970.
    pub(crate) fn now_ms(&self) -> u64 {
        self.ms_at(self.clock.now())
    }

    /// Redis's time in ms since 1970 at a moment of the program's clock.
    #[inline]
    pub(crate) fn ms_at(&self, moment: Moment) -> u64 {
        moment.micros().saturating_add_signed(self.ahead_us.load(Relaxed)) / 1000
    }

    /// The send time of a request, for [`learn`](Self::learn).
    pub(crate) fn asked(&self) -> Moment {
        self.clock.now()
    }

    /// Processes the reply to a `TIME` sent at `asked`. A more precise sample replaces the old one, and so does one that contradicts it.
    pub(crate) fn learn(&self, asked: Moment, answer: &Value) {
        let Some(server) = parse_time(answer) else { return };
        let uncertainty = self.clock.now().since(asked) / 2;
        let new = Sample { at: asked + uncertainty, server, uncertainty };
        let mut sample = self.sample.lock();
        let age = new.at.since(sample.at);
        let old_uncertainty = sample.uncertainty.saturating_add(age / DRIFT);
        let contradicted = (sample.server + age).abs_diff(new.server) > old_uncertainty.saturating_add(new.uncertainty);
        if contradicted || new.uncertainty <= old_uncertainty {
            *sample = new;
            self.ahead_us.store(new.ahead_us(), Relaxed);
        }
    }
}

impl Sample {
    fn ahead_us(&self) -> i64 {
        micros(self.server) - micros(self.at.on_clock())
    }
}

/// Parses the reply to `TIME`: seconds and microseconds.
fn parse_time(answer: &Value) -> Option<Duration> {
    let (seconds, micros): (u64, u32) = redis::from_redis_value_ref(answer).ok()?;
    Some(Duration::new(seconds, micros.checked_mul(1000)?))
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use super::ServerClock;
    use crate::clock::TestClock;
    use redis::Value;
    use std::time::Duration;

    const ROUND_TRIP: Duration = Duration::from_millis(10);

    fn time(ms: u64) -> Value {
        let text = |number: u64| Value::BulkString(number.to_string().into_bytes());
        Value::Array(vec![text(ms / 1000), text(ms % 1000 * 1000)])
    }

    /// Sends a request, lets the round trip pass, and processes `ms`, the server's time at its midpoint.
    fn ask(clock: &ServerClock, test_clock: &TestClock, round_trip: Duration, ms: u64) {
        let asked = clock.asked();
        test_clock.advance(round_trip);
        clock.learn(asked, &time(ms));
    }

    #[test]
    fn server_clock_ahead_is_followed() {
        let test_clock = TestClock::default();
        let clock = ServerClock::new(test_clock.clock());
        ask(&clock, &test_clock, ROUND_TRIP, 5_000_000);
        assert_eq!(clock.now_ms(), 5_000_005, "half the round trip has passed since the server read its clock");
        test_clock.advance(Duration::from_secs(100));
        assert_eq!(clock.now_ms(), 5_100_005);
    }

    #[test]
    fn narrower_time_estimate_wins() {
        let test_clock = TestClock::default();
        let clock = ServerClock::new(test_clock.clock());
        ask(&clock, &test_clock, Duration::from_millis(400), 5_000_000);
        assert_eq!(clock.now_ms(), 5_000_200);
        ask(&clock, &test_clock, Duration::from_millis(2), 5_000_101);
        assert_eq!(clock.now_ms(), 5_000_102, "consistent with the first sample, and more precise");
        ask(&clock, &test_clock, Duration::from_millis(300), 5_000_350);
        assert_eq!(clock.now_ms(), 5_000_402, "consistent with the precise sample, which is kept");
    }

    // shows: hazard D16
    #[test]
    fn server_with_a_changed_clock_is_followed() {
        let test_clock = TestClock::default();
        let clock = ServerClock::new(test_clock.clock());
        ask(&clock, &test_clock, Duration::from_millis(2), 5_000_000);
        ask(&clock, &test_clock, Duration::from_millis(400), 4_000_000);
        assert_eq!(clock.now_ms(), 4_000_200);
    }

    #[test]
    fn invalid_time_reply_changes_nothing() {
        let test_clock = TestClock::default();
        let clock = ServerClock::new(test_clock.clock());
        ask(&clock, &test_clock, ROUND_TRIP, 5_000_000);
        clock.learn(clock.asked(), &Value::Okay);
        assert_eq!(clock.now_ms(), 5_000_005);
    }
}
