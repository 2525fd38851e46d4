//! Two switches for operators: do without the store for a while, without a restart.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What a cache was told at run time to leave. Its [handle](crate::cache::Cache) sets them.
#[derive(Debug, Default)]
pub(crate) struct Switches {
    reads: AtomicBool,
    fills: AtomicBool,
}

impl Switches {
    /// Whether nothing is to be read from the store.
    #[inline]
    pub(crate) fn bypass_reads(&self) -> bool {
        self.reads.load(Relaxed)
    }

    /// Whether nothing is to be stored.
    pub(crate) fn bypass_fills(&self) -> bool {
        self.fills.load(Relaxed)
    }

    pub(crate) fn set_reads(&self, bypass: bool) {
        self.reads.store(bypass, Relaxed);
    }

    pub(crate) fn set_fills(&self, bypass: bool) {
        self.fills.store(bypass, Relaxed);
    }
}
