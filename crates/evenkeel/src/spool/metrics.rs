//! The metrics of a spool; docs/metrics.md lists their names.

use metrics::{Counter, Gauge, counter, gauge};

/// The metric handles of one spool.
pub(super) struct SpoolMetrics {
    pub(super) kept: Counter,
    pub(super) full: Counter,
    pub(super) failed: Counter,
    pub(super) done: Counter,
    pub(super) records: Gauge,
    pub(super) bytes: Gauge,
    pub(super) syncs: Counter,
    pub(super) torn: Counter,
    pub(super) last_success: Gauge,
}

impl SpoolMetrics {
    pub(super) fn register() -> Self {
        let appended = |outcome| counter!("evenkeel_spool_appended_total", "outcome" => outcome);
        Self {
            kept: appended("kept"),
            full: appended("full"),
            failed: appended("failed"),
            done: counter!("evenkeel_spool_done_total"),
            records: gauge!("evenkeel_spool_pending"),
            bytes: gauge!("evenkeel_spool_bytes"),
            syncs: counter!("evenkeel_spool_syncs_total"),
            torn: counter!("evenkeel_spool_torn_bytes_total"),
            last_success: gauge!("evenkeel_spool_last_success_seconds"),
        }
    }
}
