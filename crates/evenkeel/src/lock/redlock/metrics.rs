//! The metrics of the servers of a Redlock; its locks are counted in the metrics of all locks.

use metrics::{Counter, Gauge, counter, gauge};

metrics! {
    /// The metric handles of one Redlock.
    pub(super) struct RedlockMetrics {
        pub(super) members: Gauge = gauge!("evenkeel_redlock_members");
        pub(super) cleared: Counter = counter!("evenkeel_redlock_rounds_cleared_total");
        pub(super) rejoins: Counter = counter!("evenkeel_redlock_rejoins_total");
    }
}
