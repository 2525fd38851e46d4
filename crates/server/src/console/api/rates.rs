//! [`Rates`]: how many requests a key may send, as a token bucket for each name of the token file.

use crate::console::rights::Visitor;
use evenkeel::clock::{Clock, Moment};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::Duration;

/// Requests per second of a key without a rate of its own.
const PER_SECOND: u32 = 200;
/// A key that was quiet may send the requests of this many seconds at once.
const BURST_SECONDS: u32 = 5;
/// Names that are remembered; the token file has fewer.
const NAMES_MAX: usize = 10_000;

/// The buckets of all keys.
pub(crate) struct Rates {
    clock: Clock,
    buckets: Mutex<HashMap<String, Bucket>>,
}

struct Bucket {
    left: f64,
    at: Moment,
}

impl Rates {
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, buckets: Mutex::default() }
    }

    /// Takes one request from the bucket of a visitor. `Err`: it is empty, for this long.
    pub(crate) fn take(&self, visitor: &Visitor) -> Result<(), Duration> {
        let (per_second, now) = (f64::from(visitor.per_second.unwrap_or(PER_SECOND).max(1)), self.clock.now());
        let size = per_second * f64::from(BURST_SECONDS);
        let mut buckets = self.buckets.lock();
        if buckets.len() >= NAMES_MAX && !buckets.contains_key(&visitor.name) {
            buckets.clear();
        }
        let bucket = buckets.entry(visitor.name.clone()).or_insert(Bucket { left: size, at: now });
        bucket.left = (bucket.left + now.since(bucket.at).as_secs_f64() * per_second).min(size);
        bucket.at = now;
        if bucket.left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - bucket.left) / per_second));
        }
        bucket.left -= 1.0;
        Ok(())
    }
}
