//! The metrics of a relay; docs/metrics.md lists their names.

use super::core::PassReport;
use metrics::{Counter, Gauge, counter, gauge};

metrics! {
    /// The metrics of one relay.
    pub(super) struct RelayMetrics {
        pub(super) carried: Counter = counter!("evenkeel_outbox_carried_total");
        pub(super) sent: Counter = counter!("evenkeel_outbox_sent_total");
        pub(super) duplicates: Counter = counter!("evenkeel_outbox_duplicates_total");
        pub(super) fenced: Counter = counter!("evenkeel_outbox_fenced_total");
        pub(super) deleted: Counter = counter!("evenkeel_outbox_deleted_total");
        pub(super) notifications: Counter = counter!("evenkeel_outbox_notifications_total");
        success: Gauge = gauge!("evenkeel_outbox_relay_last_success_seconds");
    }
}

/// The two kinds of rows, each with its own worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worker {
    Units,
    Keys,
}

impl Worker {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Units => "units",
            Self::Keys => "keys",
        }
    }
}

impl RelayMetrics {
    /// Records a successful pass.
    pub(super) fn success(&self, unix_ms: u64) {
        self.success.set(unix_ms as f64 / 1000.0);
    }

    /// Counts rows that were not carried out, by reason.
    pub(super) fn not_done(&self, worker: Worker, report: &PassReport) {
        let unavailable = report.waiting.saturating_sub(report.unrouted);
        let reasons = [
            ("unavailable", unavailable),
            ("no_route", report.unrouted),
            ("failed", report.failed),
            ("parked", report.parked),
        ];
        for (reason, rows) in reasons {
            if rows > 0 {
                counter!("evenkeel_outbox_failures_total", "worker" => worker.name(), "reason" => reason)
                    .increment(rows as u64);
            }
        }
    }

    /// Counts a database call that failed and will be repeated.
    pub(super) fn call_failed(&self, step: &'static str) {
        counter!("evenkeel_outbox_call_failures_total", "step" => step).increment(1);
    }

    /// Records whether a gate of this worker is closed.
    pub(super) fn gate(&self, worker: Worker, is_closed: bool) {
        gauge!("evenkeel_outbox_gate_closed", "worker" => worker.name()).set(if is_closed { 1.0 } else { 0.0 });
    }
}
