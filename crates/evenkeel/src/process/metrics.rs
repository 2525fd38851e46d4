//! The metrics of process reports; docs/metrics.md lists their names.

use metrics::{Counter, Gauge, counter, gauge};

metrics! {
    /// The metric handles of one reporter.
    pub(super) struct ReporterMetrics {
        pub(super) sent: Counter = counter!("evenkeel_process_reports_total", "outcome" => "sent");
        pub(super) failed: Counter = counter!("evenkeel_process_reports_total", "outcome" => "failed");
        pub(super) ignored: Counter = counter!("evenkeel_process_reports_ignored_total");
        success: Gauge = gauge!("evenkeel_process_report_last_success_seconds");
    }
}

impl ReporterMetrics {
    /// Records a report that was stored.
    pub(super) fn success(&self, unix_ms: u64) {
        self.sent.increment(1);
        self.success.set(unix_ms as f64 / 1000.0);
    }
}
