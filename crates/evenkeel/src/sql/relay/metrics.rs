//! The metrics of a relay; docs/metrics.md lists their names.

use super::core::Looked;
use metrics::{Counter, Gauge, counter, gauge};

/// The metrics of one relay.
pub(super) struct RelayMetrics {
    pub(super) carried: Counter,
    pub(super) sent: Counter,
    pub(super) duplicates: Counter,
    pub(super) fenced: Counter,
    pub(super) deleted: Counter,
    pub(super) notifications: Counter,
    success: Gauge,
}

/// The two kinds of rows, each with its own worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worker {
    Works,
    Keys,
}

impl Worker {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Keys => "keys",
        }
    }
}

impl RelayMetrics {
    pub(super) fn register() -> Self {
        Self {
            carried: counter!("evenkeel_outbox_carried_total"),
            sent: counter!("evenkeel_outbox_sent_total"),
            duplicates: counter!("evenkeel_outbox_duplicates_total"),
            fenced: counter!("evenkeel_outbox_fenced_total"),
            deleted: counter!("evenkeel_outbox_deleted_total"),
            notifications: counter!("evenkeel_outbox_notifications_total"),
            success: gauge!("evenkeel_outbox_relay_last_success_seconds"),
        }
    }

    /// Records a successful pass.
    pub(super) fn success(&self, unix_ms: u64) {
        self.success.set(unix_ms as f64 / 1000.0);
    }

    /// Counts rows that were not carried out, by reason.
    pub(super) fn not_done(&self, worker: Worker, looked: &Looked) {
        let away = looked.waiting.saturating_sub(looked.unrouted);
        let reasons =
            [("away", away), ("no_route", looked.unrouted), ("failed", looked.failed), ("parked", looked.parked)];
        for (reason, rows) in reasons {
            if rows > 0 {
                counter!("evenkeel_outbox_failures_total", "lane" => worker.name(), "reason" => reason)
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
        gauge!("evenkeel_outbox_gate_closed", "lane" => worker.name()).set(if is_closed { 1.0 } else { 0.0 });
    }
}
