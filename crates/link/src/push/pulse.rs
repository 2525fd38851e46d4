//! The time of each connection's last proof that it has received every push that Redis had sent by then.
//!
//! A reply arrives after every push that Redis sent before it. A reply therefore proves that no push from before the request
//! is missing; a connection without replies proves nothing.

use crate::clock::{Clock, Moment};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The proofs of all connections of a link, across epochs.
pub struct Pulse {
    /// The program's clock, because the ages of its cached values are compared with it.
    clock: Clock,
    /// For each connection, the send time of the last request that was answered (microseconds on that clock).
    lanes: Box<[AtomicU64]>,
}

impl Pulse {
    pub(crate) fn new(clock: Clock, lanes: usize) -> Self {
        Self { clock, lanes: (0..lanes).map(|_| AtomicU64::new(0)).collect() }
    }

    /// The send time of a request.
    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Records that a request sent at `asked` was answered. (A request of an earlier epoch was sent before this one began, so it
    /// does not change the value.)
    pub(crate) fn answered(&self, lane: usize, asked: Moment) {
        if let Some(last) = self.lanes.get(lane) {
            last.fetch_max(asked.micros(), Relaxed);
        }
    }

    /// Records new connections, on which nothing has been read yet.
    pub(crate) fn begin(&self) {
        let now = self.now();
        (0..self.lanes.len()).for_each(|lane| self.answered(lane, now));
    }

    /// The microseconds at `now` since connection `lane` last proved that it receives its pushes.
    #[inline]
    pub fn silence_us(&self, lane: usize, now: Moment) -> u64 {
        let last = self.lanes.get(lane).map_or(0, |last| last.load(Relaxed));
        now.micros().saturating_sub(last)
    }
}
