//! [`Words`]: issues ids from the reserved time, without a lock.
//!
//! A *word* is a tick and a sequence number in one integer, so the overflow of a sequence carries into the next tick. One atomic integer has
//! the next word. It only rises, and each issued word raises it, so no word is issued twice, whatever worker id it is issued with.

use super::super::id::Id;
use arc_swap::ArcSwap;
use evenkeel_link::clock::{Clock, Moment};
use evenkeel_link::support::guard;
use evenkeel_protocol::id::layout::Layout;
use evenkeel_protocol::id::steps::Reserved;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

/// The first sequence number of a tick is drawn below this: with 0, at a low rate all ids would be 0 modulo a power of two.
const FIRST_BITS: u8 = 4;

pub(super) struct Words {
    layout: Layout,
    clock: Clock,
    next: AtomicU64,
    range: ArcSwap<Range>,
    /// Decides the first sequence numbers.
    salt: u64,
}

/// The reserved words of a worker id.
#[derive(Clone, Copy, Debug)]
struct Range {
    worker: u16,
    from: u64,
    /// Not one of them.
    until: u64,
    /// The store's time at this moment.
    store_ms: u64,
    at: Moment,
}

impl Words {
    pub(super) fn new(layout: Layout, clock: Clock) -> Self {
        let none = Range { worker: 0, from: 0, until: 0, store_ms: 0, at: clock.now() };
        Self { layout, clock, next: AtomicU64::new(0), range: ArcSwap::from_pointee(none), salt: rand::random() }
    }

    /// The next id; `None` if no reserved time is left.
    pub(super) fn take(&self) -> Option<Id> {
        // Read before the range: a word that is issued with an earlier range was then not yet passed by a later one.
        let mut next = self.next.load(SeqCst);
        loop {
            let range = **self.range.load();
            let word = self.candidate(next, &range);
            if word >= range.until && guard("id_reserved_end") {
                return None;
            }
            match self.next.compare_exchange_weak(next, word + 1, SeqCst, SeqCst) {
                Ok(_) => return Some(Id::from(self.layout.id(word, range.worker))),
                Err(later) => next = later,
            }
        }
    }

    /// The first word at or after `next` that is neither before the range nor in the past.
    fn candidate(&self, next: u64, range: &Range) -> u64 {
        let word = if guard("id_reserved_from") { next.max(range.from) } else { next };
        let now = self.layout.word_at(range.store_ms.saturating_add(ms(self.clock.soon().since(range.at))));
        if word >= now { word } else { now + self.first_sequence(now) }
    }

    fn first_sequence(&self, word: u64) -> u64 {
        if !guard("id_first_sequence") {
            return 0;
        }
        let bits = u64::from(FIRST_BITS).min(u64::from(self.layout.ids_per_tick().trailing_zeros()));
        // Fibonacci hashing: the highest bits of the product depend on all bits.
        (word ^ self.salt).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - bits)
    }

    /// Replaces the range by what was reserved, for a new worker id or more time of the same.
    pub(super) fn reserve(&self, reserved: &Reserved, is_new: bool) {
        let old = **self.range.load();
        let mut from = self.layout.first_word(reserved.from_ms);
        if is_new && guard("id_rises_with_a_new_worker") {
            // A tick of the old worker id may be in use: ids of this process also rise from one worker id to the next.
            from = from.max(old.until);
        }
        let until = self.layout.word_at(reserved.until_ms);
        let range = if is_new {
            Range { worker: reserved.worker, from, until, store_ms: reserved.now_ms, at: self.clock.now() }
        } else {
            // An allocator that has lost commits may reply less than before.
            Range { until: until.max(old.until), store_ms: reserved.now_ms, at: self.clock.now(), ..old }
        };
        self.range.store(range.into());
    }

    /// Issues nothing any more.
    pub(super) fn close(&self) {
        let range = **self.range.load();
        self.range.store(Range { until: 0, ..range }.into());
    }

    /// The store's time, as far as it is known here.
    fn store_ms(&self) -> u64 {
        let range = **self.range.load();
        range.store_ms.saturating_add(ms(self.clock.now().since(range.at)))
    }

    /// How long an extension by `ahead_ms` would not yet reserve the next word.
    pub(super) fn useful_in(&self, ahead_ms: u64) -> Duration {
        let range = **self.range.load();
        let word = self.candidate(self.next.load(SeqCst), &range);
        let needed = self.layout.tick_end_ms(word).saturating_sub(ahead_ms);
        Duration::from_millis(needed.saturating_sub(self.store_ms()))
    }

    pub(super) fn worker(&self) -> u16 {
        self.range.load().worker
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }
}

fn ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
