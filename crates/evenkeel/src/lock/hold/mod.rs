//! Held locks: the guard, its lease and renewal, and the background release of dropped guards.

pub(crate) mod guard;
pub(crate) mod latch;
#[cfg(test)]
pub(crate) mod latch_orders;
pub(crate) mod lease;
pub(crate) mod leases;
pub(crate) mod reaper;
pub(crate) mod renewal;

/// The atomics of the latch; a test replaces them by loom's.
mod atomics {
    pub(super) use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
}
