//! Counters of metrics whose totals this process can read, for its report.

use metrics::Counter;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A counter, and its total in this process.
pub(crate) struct Counted {
    counter: Counter,
    total: AtomicU64,
}

impl Counted {
    pub(crate) fn new(counter: Counter) -> Self {
        Self { counter, total: AtomicU64::new(0) }
    }

    #[inline]
    pub(crate) fn increment(&self, count: u64) {
        self.counter.increment(count);
        self.total.fetch_add(count, Relaxed);
    }

    pub(crate) fn total(&self) -> u64 {
        self.total.load(Relaxed)
    }
}

/// Parts of a [`Striped`] counter: more threads than this share one.
const STRIPES: usize = 8;

/// A counter that many threads increment at once, as hits of a near cache: each thread has a part of it on a cache line of its own.
pub(crate) struct Striped {
    counter: Counter,
    stripes: [Stripe; STRIPES],
}

#[derive(Default)]
#[repr(align(64))]
struct Stripe(AtomicU64);

impl Striped {
    pub(crate) fn new(counter: Counter) -> Self {
        Self { counter, stripes: std::array::from_fn(|_| Stripe::default()) }
    }

    #[inline]
    pub(crate) fn increment(&self, count: u64) {
        self.counter.increment(count);
        self.stripes[stripe_of_thread()].0.fetch_add(count, Relaxed);
    }

    pub(crate) fn total(&self) -> u64 {
        self.stripes.iter().map(|stripe| stripe.0.load(Relaxed)).fold(0, u64::wrapping_add)
    }
}

/// The stripe of this thread, which the place of its thread-local memory decides: no initialization to check at every hit.
#[inline]
fn stripe_of_thread() -> usize {
    thread_local!(static PLACE: u8 = const { 0 });
    PLACE.with(|place| {
        let page = std::ptr::from_ref(place) as usize >> 12;
        (page ^ (page >> 9)) % STRIPES
    })
}

#[cfg(test)]
mod tests {
    use super::{Counted, Striped};
    use metrics::Counter;

    #[test]
    fn totals_count_increments_of_all_threads() {
        let (counted, striped) = (Counted::new(Counter::noop()), Striped::new(Counter::noop()));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1_000 {
                        counted.increment(2);
                        striped.increment(1);
                    }
                });
            }
        });
        assert_eq!((counted.total(), striped.total()), (8_000, 4_000));
    }
}
