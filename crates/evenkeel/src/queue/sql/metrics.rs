//! The metrics of a queue's rows; docs/metrics.md lists the names.

use metrics::{Counter, Gauge, counter, gauge};
use std::sync::Arc;

/// The metric handles of one queue's rows.
pub(super) struct RowMetrics {
    pub(super) put_back: Counter,
    pub(super) ended: Counter,
    pub(super) last_success: Gauge,
    queue: Arc<str>,
}

impl RowMetrics {
    pub(super) fn register(queue: &Arc<str>) -> Self {
        let name = || Arc::clone(queue);
        let swept = |what| counter!("evenkeel_queue_swept_total", "queue" => name(), "what" => what);
        Self {
            put_back: swept("put_back"),
            ended: swept("ended"),
            last_success: gauge!("evenkeel_queue_sweep_last_success_seconds", "queue" => name()),
            queue: name(),
        }
    }

    /// Counts a delivery whose handler was not started.
    pub(super) fn refused(&self, because: &'static str) {
        counter!("evenkeel_queue_not_begun_total", "queue" => Arc::clone(&self.queue), "because" => because)
            .increment(1);
    }
}
