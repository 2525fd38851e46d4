//! [`Instances`]: how many instances use a limit.

use evenkeel_link::Token;
use evenkeel_link::clock::{Clock, Moment};
use evenkeel_protocol::limit::steps::Attend;
use evenkeel_protocol::limit::{LimitBackend, Subject};
use metrics::Gauge;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// How often an instance that uses a limit says so: with the first call after this time.
const INTERVAL: Duration = Duration::from_secs(10);

/// The instances of one limit, as this one has last seen them.
pub(super) struct Instances {
    place: Subject,
    attend: Attend,
    clock: Clock,
    due_at: Mutex<Option<Moment>>,
    seen: AtomicU32,
    gauge: Gauge,
}

impl Instances {
    pub(super) fn new(backend: &LimitBackend, limit: &str, instance: Token, clock: Clock, gauge: Gauge) -> Self {
        let place = backend.instances(limit);
        Self { place, attend: Attend { instance }, clock, due_at: Mutex::new(None), seen: AtomicU32::new(1), gauge }
    }

    /// How many there were.
    pub(super) fn seen(&self) -> u32 {
        self.seen.load(Relaxed)
    }

    /// Whether it is time to say that this instance uses the limit.
    pub(super) fn is_due(&self) -> bool {
        self.due_at.lock().is_none_or(|due_at| due_at <= self.clock.now())
    }

    /// Says that this instance uses the limit, and counts all that do.
    pub(super) async fn attend(&self, backend: &LimitBackend) {
        // Before the call, so that concurrent callers do not repeat it.
        *self.due_at.lock() = Some(self.clock.now() + INTERVAL);
        match backend.run(&self.place, &self.attend).await {
            Ok(count) => {
                self.seen.store(count.max(1), Relaxed);
                self.gauge.set(f64::from(count));
            }
            Err(error) => {
                tracing::debug!(place = self.place.tag(), %error, "the instances of a limit were not counted");
            }
        }
    }
}
