//! The state of a lease as atomic bits: held until it is closed or lost, and never held again.
//!
//! It uses neither tokio nor clocks, so that tests can explore all interleavings of a drop with a renewal: `latch_orders.rs` explores the
//! orders of the steps, and `tests/it/hermetic/latch_loom.rs` compiles this file with loom's atomics.

use super::atomics::Ordering::SeqCst;
use super::atomics::{AtomicU8, AtomicU64};

/// A renewal is in progress.
const RENEWING: u8 = 1;
/// The guard was released or dropped.
const CLOSED: u8 = 2;
/// The lease has expired, or was taken away.
const LOST: u8 = 4;
/// The renewal in progress must send the release when it ends.
const RELEASE_PENDING: u8 = 8;

/// Whether a lease is held, until when, and who sends its release.
pub(crate) struct Latch {
    bits: AtomicU8,
    deadline_ns: AtomicU64,
}

impl Latch {
    /// A latch that is held until `deadline_ns`.
    pub(crate) fn new(deadline_ns: u64) -> Self {
        Self { bits: AtomicU8::new(0), deadline_ns: AtomicU64::new(deadline_ns) }
    }

    pub(crate) fn deadline_ns(&self) -> u64 {
        self.deadline_ns.load(SeqCst)
    }

    /// Moves the deadline forward, never back.
    pub(crate) fn extend(&self, deadline_ns: u64) {
        self.deadline_ns.fetch_max(deadline_ns, SeqCst);
    }

    /// Whether it is neither closed nor lost.
    pub(crate) fn is_held(&self) -> bool {
        self.bits.load(SeqCst) & (CLOSED | LOST) == 0
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.bits.load(SeqCst) & LOST != 0
    }

    /// Whether a renewal is in progress.
    pub(crate) fn is_renewing(&self) -> bool {
        self.bits.load(SeqCst) & RENEWING != 0
    }

    /// Marks the lease as lost; `true` for the one call that did so. A closed lease cannot be lost.
    pub(crate) fn lose(&self) -> bool {
        self.change(|bits| (bits & (CLOSED | LOST) == 0).then_some(bits | LOST)).is_some()
    }

    /// Begins a renewal; `false` if the lease is not held.
    pub(crate) fn begin_renewal(&self) -> bool {
        self.change(|bits| (bits & (CLOSED | LOST) == 0).then_some(bits | RENEWING)).is_some()
    }

    /// Ends a renewal; `true` if the caller must now send the release.
    pub(crate) fn end_renewal(&self) -> bool {
        self.bits.fetch_and(!RENEWING, SeqCst) & RELEASE_PENDING != 0
    }

    /// Prevents further renewals. The caller sends the release once no renewal is in progress.
    pub(crate) fn close(&self) {
        self.bits.fetch_or(CLOSED, SeqCst);
    }

    /// The same for a caller that cannot wait: `true` if the caller must send the release, `false` if the renewal in progress does.
    pub(crate) fn close_at_once(&self) -> bool {
        self.bits.fetch_or(CLOSED | RELEASE_PENDING, SeqCst) & RENEWING == 0
    }

    fn change(&self, change: impl Fn(u8) -> Option<u8>) -> Option<u8> {
        self.bits.fetch_update(SeqCst, SeqCst, change).ok()
    }
}
