//! Two switches for operators, which bypass the store at run time without a restart.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The switches of one cache. Its [handle](crate::cache::Cache) sets them.
#[derive(Debug, Default)]
pub(crate) struct Switches {
    reads: AtomicBool,
    fills: AtomicBool,
}

impl Switches {
    /// Whether reads bypass the store.
    #[inline]
    pub(crate) fn bypass_reads(&self) -> bool {
        self.reads.load(Relaxed)
    }

    /// Whether loaded values are not stored.
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
