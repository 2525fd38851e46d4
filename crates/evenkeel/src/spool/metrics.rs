//! The metrics of a spool; docs/metrics.md lists their names.

use metrics::{Counter, Gauge, counter, gauge};

metrics! {
    /// The metric handles of one spool.
    pub(super) struct SpoolMetrics {
        pub(super) kept: Counter = counter!("evenkeel_spool_appended_total", "outcome" => "kept");
        pub(super) full: Counter = counter!("evenkeel_spool_appended_total", "outcome" => "full");
        pub(super) failed: Counter = counter!("evenkeel_spool_appended_total", "outcome" => "failed");
        pub(super) done: Counter = counter!("evenkeel_spool_done_total");
        pub(super) records: Gauge = gauge!("evenkeel_spool_pending");
        pub(super) bytes: Gauge = gauge!("evenkeel_spool_bytes");
        pub(super) syncs: Counter = counter!("evenkeel_spool_syncs_total");
        pub(super) torn: Counter = counter!("evenkeel_spool_torn_bytes_total");
        pub(super) last_success: Gauge = gauge!("evenkeel_spool_last_success_seconds");
    }
}
