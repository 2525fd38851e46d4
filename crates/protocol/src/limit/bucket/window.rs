//! The bucket of a window.

use crate::limit::quota::{SLOTS, Window};
use evenkeel_link::support::guard;

/// The slots that an interval of the window's length can touch.
const COUNTED: usize = 11;

/// The bucket of a window: the tokens of its slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::limit) struct WindowBucket {
    at: u64,
    slot_ms: u64,
    /// The number of the newest slot. It is in the future after a reservation.
    newest: u64,
    /// The tokens of the newest slot, and of those before it.
    counts: [u64; COUNTED],
}

impl WindowBucket {
    /// A full bucket.
    pub(super) fn new(slot_ms: u64, now: u64) -> Self {
        Self { at: now, slot_ms, newest: now / slot_ms, counts: [0; COUNTED] }
    }

    pub(super) fn is_from_future(&self, now: u64) -> bool {
        self.at > now
    }

    /// The bucket at `now`. One from the future was written before the clock was set back: its slots are moved back by the difference.
    pub(super) fn at(mut self, slot_ms: u64, now: u64) -> Self {
        if self.is_from_future(now) && guard("model_limit_window_set_back") {
            self.newest = self.newest.saturating_sub((self.at - now) / self.slot_ms);
        }
        if self.slot_ms != slot_ms && guard("model_limit_window_changed") {
            // All tokens count in the last of the slots that the newest one touches.
            self.newest = ((self.newest + 1) * self.slot_ms - 1) / slot_ms;
            self.counts = std::array::from_fn(|place| if place == 0 { self.counts.iter().sum() } else { 0 });
        }
        (self.at, self.slot_ms) = (now, slot_ms);
        self.advance(now / slot_ms);
        self
    }

    /// In how many milliseconds there are so many tokens, if no other call comes first.
    pub(super) fn wait_ms(&self, window: Window, tokens: u32, now: u64) -> u64 {
        let most = u64::from(window.tokens());
        // An interval of the window's length can begin within the oldest slot.
        let counted = if guard("model_limit_window_oldest_slot") { COUNTED } else { COUNTED - 1 };
        let mut sum = u64::from(tokens) + self.counts[..counted].iter().sum::<u64>();
        // A call takes no place in front of a reservation, so only intervals that end in its own slot matter.
        let mut slot = self.newest;
        for count in self.counts[..counted].iter().rev() {
            if sum <= most {
                break;
            }
            sum -= count;
            slot += 1;
        }
        (slot * self.slot_ms).saturating_sub(now)
    }

    /// Takes tokens at `time`; returns how many are left then.
    pub(super) fn debit(&mut self, window: Window, tokens: u32, time: u64) -> u64 {
        self.advance(time / self.slot_ms);
        self.counts[0] += u64::from(tokens);
        u64::from(window.tokens()).saturating_sub(self.counts.iter().sum())
    }

    /// When it is full again.
    pub(super) fn full_ms(&self, slot_ms: u64) -> u64 {
        (self.newest + SLOTS + 1) * slot_ms
    }

    /// Makes this slot the newest, unless a reservation is later.
    fn advance(&mut self, slot: u64) {
        let slots = usize::try_from(slot.saturating_sub(self.newest)).unwrap_or(usize::MAX);
        if slots > 0 {
            let counts = self.counts;
            self.counts = std::array::from_fn(|place| place.checked_sub(slots).map_or(0, |from| counts[from]));
            self.newest = slot;
        }
    }
}
