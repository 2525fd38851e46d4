//! Redis's own time, estimated between the answers that tell it.

use crate::clock::{Clock, Moment};
use redis::Value;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How much an old sample loses against a new one: 1 ms for each 10 s of age, more than quartz drifts.
const DRIFT: u32 = 10_000;

/// The difference between Redis's clock and ours.
pub(super) struct ServerClock {
    clock: Clock,
    sample: Mutex<Sample>,
    /// Server time minus our moment, in microseconds: all that [`now_ms`](Self::now_ms), which every cache hit calls, must read.
    ahead_us: AtomicI64,
}

/// One answer to `TIME`.
#[derive(Clone, Copy)]
struct Sample {
    /// Middle between question and answer.
    at: Moment,
    server: Duration,
    /// Half the round trip: the answer was made at most this long before or after `at`.
    doubt: Duration,
}

impl ServerClock {
    /// Until the first sample this machine's wall clock stands in.
    pub(super) fn new(clock: Clock) -> Self {
        let sample = Sample { at: clock.now(), server: Duration::from_millis(clock.unix_ms()), doubt: Duration::MAX };
        Self { clock, sample: Mutex::new(sample), ahead_us: AtomicI64::new(sample.ahead_us()) }
    }

    /// Redis's time in ms since 1970.
    pub(super) fn now_ms(&self) -> u64 {
        #[cfg(feature = "testing")]
        if self.clock.is_manual() {
            return self.clock.unix_ms();
        }
        u64::try_from((micros(self.clock.now().on_clock()) + self.ahead_us.load(Relaxed)) / 1000).unwrap_or(0)
    }

    /// When a question is sent.
    pub(super) fn asked(&self) -> Moment {
        self.clock.now()
    }

    /// Learns from the answer to a `TIME` sent at `asked`. A sharper sample wins; so does one that shows the old to be wrong.
    pub(super) fn learn(&self, asked: Moment, answer: &Value) {
        let Some(server) = told(answer) else { return };
        let doubt = self.clock.now().since(asked) / 2;
        let new = Sample { at: asked + doubt, server, doubt };
        let mut sample = self.sample.lock().unwrap_or_else(PoisonError::into_inner);
        let age = new.at.since(sample.at);
        let old_doubt = sample.doubt.saturating_add(age / DRIFT);
        let contradicted = (sample.server + age).abs_diff(new.server) > old_doubt.saturating_add(new.doubt);
        if contradicted || new.doubt <= old_doubt {
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

/// Reads the answer to `TIME`: seconds and microseconds.
fn told(answer: &Value) -> Option<Duration> {
    let (seconds, micros): (u64, u32) = redis::from_redis_value_ref(answer).ok()?;
    Some(Duration::new(seconds, micros.checked_mul(1000)?))
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}
