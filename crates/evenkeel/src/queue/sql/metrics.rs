//! The metrics of a queue's rows; docs/metrics.md lists the names.

use metrics::{Counter, Gauge, counter, gauge};
use std::sync::Arc;

metrics! {
    /// The metric handles of one queue's rows.
    pub(super) struct RowMetrics(queue) {
        pub(super) put_back: Counter = counter!("evenkeel_queue_swept_total", "queue" => queue(), "what" => "put_back");
        pub(super) ended: Counter = counter!("evenkeel_queue_swept_total", "queue" => queue(), "what" => "ended");
        pub(super) last_success: Gauge = gauge!("evenkeel_queue_sweep_last_success_seconds", "queue" => queue());
        queue: Arc<str> = queue();
    }
}

impl RowMetrics {
    /// Counts a delivery whose handler was not started.
    pub(super) fn not_started(&self, reason: &'static str) {
        counter!("evenkeel_queue_not_begun_total", "queue" => Arc::clone(&self.queue), "reason" => reason).increment(1);
    }
}
