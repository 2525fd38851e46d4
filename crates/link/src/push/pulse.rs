//! When each connection last showed that every push Redis had sent until then was received.
//!
//! An answer is received after every push that Redis sent before it. So an answered question proves that no push from before the
//! question is missing; nothing is known of a silent connection.

use crate::clock::{Clock, Moment};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The pulse of all connections of a link, whichever epoch they belong to.
pub struct Pulse {
    /// The program's clock: it counts what its own caches serve.
    clock: Clock,
    /// For each connection, when the last question that was answered had been sent (microseconds on that clock).
    lanes: Box<[AtomicU64]>,
}

impl Pulse {
    pub(crate) fn new(clock: Clock, lanes: usize) -> Self {
        Self { clock, lanes: (0..lanes).map(|_| AtomicU64::new(0)).collect() }
    }

    /// When a question is sent.
    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }

    /// A question that was sent at `asked` has been answered. (One of an earlier epoch was sent before this one began, so it
    /// proves nothing that was not known.)
    pub(crate) fn answered(&self, lane: usize, asked: Moment) {
        if let Some(last) = self.lanes.get(lane) {
            last.fetch_max(asked.micros(), Relaxed);
        }
    }

    /// New connections, on which nothing has been read yet.
    pub(crate) fn begin(&self) {
        let now = self.now();
        (0..self.lanes.len()).for_each(|lane| self.answered(lane, now));
    }

    /// For how many microseconds nothing has proved at `now` that connection `lane` receives its pushes.
    #[inline]
    pub fn silence_us(&self, lane: usize, now: Moment) -> u64 {
        let last = self.lanes.get(lane).map_or(0, |last| last.load(Relaxed));
        now.micros().saturating_sub(last)
    }
}
