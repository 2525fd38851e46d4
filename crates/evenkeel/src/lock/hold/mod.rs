//! Holding: a guard, the lease behind it, its renewal, and the release of what was dropped.

pub(crate) mod guard;
pub(crate) mod latch;
#[cfg(test)]
pub(crate) mod latch_orders;
pub(crate) mod lease;
pub(crate) mod reaper;
pub(crate) mod renewal;

/// What the latch is made of; loom puts its own in their place.
mod atomics {
    pub(super) use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
}
