//! The state of a lease, as a few bits that are changed at once: held until it is closed or lost, and never held again.
//!
//! Free of tokio and of clocks, so that all interleavings of a drop with a renewal can be tried: `latch_orders.rs` beside it tries
//! the orders of the steps, `tests/it/hermetic/latch_loom.rs` compiles this file once more, with loom's atomics.

use super::atomics::Ordering::SeqCst;
use super::atomics::{AtomicU8, AtomicU64};

/// A renewal is on its way.
const RENEWING: u8 = 1;
/// Its guard has let go.
const CLOSED: u8 = 2;
/// It has run out, or was taken.
const LOST: u8 = 4;
/// The renewal that is on its way must see to the release.
const OWED: u8 = 8;

/// Whether a lease is held, until when, and who sends its release.
pub(crate) struct Latch {
    bits: AtomicU8,
    deadline_ns: AtomicU64,
}

impl Latch {
    /// Held until `deadline_ns`.
    pub(crate) fn new(deadline_ns: u64) -> Self {
        Self { bits: AtomicU8::new(0), deadline_ns: AtomicU64::new(deadline_ns) }
    }

    pub(crate) fn deadline_ns(&self) -> u64 {
        self.deadline_ns.load(SeqCst)
    }

    /// Moves the deadline on, never back.
    pub(crate) fn extend(&self, deadline_ns: u64) {
        self.deadline_ns.fetch_max(deadline_ns, SeqCst);
    }

    /// Neither closed nor lost.
    pub(crate) fn is_held(&self) -> bool {
        self.bits.load(SeqCst) & (CLOSED | LOST) == 0
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.bits.load(SeqCst) & LOST != 0
    }

    /// Whether a renewal is on its way.
    pub(crate) fn is_renewing(&self) -> bool {
        self.bits.load(SeqCst) & RENEWING != 0
    }

    /// Notes that it was lost; `true` for the one call that did it. What is closed is not lost any more.
    pub(crate) fn lose(&self) -> bool {
        self.change(|bits| (bits & (CLOSED | LOST) == 0).then_some(bits | LOST)).is_some()
    }

    /// A renewal may be sent; `false` if the lease is not held.
    pub(crate) fn begin_renewal(&self) -> bool {
        self.change(|bits| (bits & (CLOSED | LOST) == 0).then_some(bits | RENEWING)).is_some()
    }

    /// The renewal is over; `true` if its sender must now see to the release.
    pub(crate) fn end_renewal(&self) -> bool {
        self.bits.fetch_and(!RENEWING, SeqCst) & OWED != 0
    }

    /// From now on no renewal begins. Who calls this sends the release once none is on its way.
    pub(crate) fn close(&self) {
        self.bits.fetch_or(CLOSED, SeqCst);
    }

    /// The same for a caller who cannot wait: `true` if he must see to the release, `false` if the renewal that is on its way
    /// does.
    pub(crate) fn close_at_once(&self) -> bool {
        self.bits.fetch_or(CLOSED | OWED, SeqCst) & RENEWING == 0
    }

    fn change(&self, change: impl Fn(u8) -> Option<u8>) -> Option<u8> {
        self.bits.fetch_update(SeqCst, SeqCst, change).ok()
    }
}
