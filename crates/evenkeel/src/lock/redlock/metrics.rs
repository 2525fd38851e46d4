//! The metrics of the servers of a Redlock; its locks are counted in the metrics of all locks.

use metrics::{Counter, Gauge, counter, gauge};

/// The metric handles of one Redlock.
pub(super) struct RedlockMetrics {
    pub(super) members: Gauge,
    pub(super) cleared: Counter,
    pub(super) rejoins: Counter,
}

impl RedlockMetrics {
    pub(super) fn register() -> Self {
        Self {
            members: gauge!("evenkeel_redlock_members"),
            cleared: counter!("evenkeel_redlock_rounds_cleared_total"),
            rejoins: counter!("evenkeel_redlock_rejoins_total"),
        }
    }
}
