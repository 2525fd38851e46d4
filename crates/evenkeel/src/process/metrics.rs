//! The metrics of process reports; docs/metrics.md lists their names.

use metrics::{Counter, Gauge, counter, gauge};

/// The metric handles of one reporter.
pub(super) struct ReporterMetrics {
    pub(super) sent: Counter,
    pub(super) failed: Counter,
    pub(super) ignored: Counter,
    success: Gauge,
}

impl ReporterMetrics {
    pub(super) fn register() -> Self {
        Self {
            sent: counter!("evenkeel_process_reports_total", "outcome" => "sent"),
            failed: counter!("evenkeel_process_reports_total", "outcome" => "failed"),
            ignored: counter!("evenkeel_process_reports_ignored_total"),
            success: gauge!("evenkeel_process_report_last_success_seconds"),
        }
    }

    /// Records a report that was stored.
    pub(super) fn success(&self, unix_ms: u64) {
        self.sent.increment(1);
        self.success.set(unix_ms as f64 / 1000.0);
    }
}
