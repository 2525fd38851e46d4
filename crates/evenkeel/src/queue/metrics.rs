//! What a queue tells about itself; docs/metrics.md lists the names. Handles are registered once, when the queue is opened, so
//! install the recorder before that.

use super::steps::Enqueued;
use metrics::{Counter, Histogram, counter, histogram};
use std::sync::Arc;

/// The handles of one queue.
pub(crate) struct QueueMetrics {
    queue: Arc<str>,
    pub(crate) created: Counter,
    pub(crate) body_bytes: Histogram,
}

impl QueueMetrics {
    pub(crate) fn register(queue: &str) -> Self {
        let queue: Arc<str> = queue.into();
        // The label's value is shared by all handles.
        let name = || Arc::clone(&queue);
        Self {
            created: counter!("evenkeel_queue_enqueued_total", "queue" => name(), "outcome" => "created"),
            body_bytes: histogram!("evenkeel_queue_body_bytes", "queue" => name()),
            queue,
        }
    }

    /// Counts what became of a job that was sent.
    pub(crate) fn sent(&self, answer: Enqueued) {
        let outcome = match answer {
            Enqueued::Created => return self.created.increment(1),
            Enqueued::Duplicate => "duplicate",
            Enqueued::Taken(_) => "taken",
            Enqueued::Dead => "dead",
            Enqueued::Ended(_) => "ended",
            Enqueued::Full => "full",
        };
        counter!("evenkeel_queue_enqueued_total", "queue" => Arc::clone(&self.queue), "outcome" => outcome)
            .increment(1);
    }
}
