//! The metrics of a queue; docs/metrics.md lists the names. Handles are registered once, when the queue is opened, so install the
//! recorder before that.

use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::steps::{Enqueued, Fate, Outcome, Verdict};
use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

metrics! {
    /// The metric handles of one queue.
    pub(crate) struct QueueMetrics(queue) {
        queue: Arc<str> = queue();
        pub(crate) created: Counter =
            counter!("evenkeel_queue_enqueued_total", "queue" => queue(), "outcome" => "created");
        pub(crate) body_bytes: Histogram = histogram!("evenkeel_queue_body_bytes", "queue" => queue());
    }
}

impl QueueMetrics {
    /// Counts the outcome of an enqueued job.
    pub(crate) fn sent(&self, answer: Enqueued) {
        let outcome = match answer {
            Enqueued::Created => return self.created.increment(1),
            Enqueued::Duplicate => "duplicate",
            Enqueued::Taken(_) => "taken",
            Enqueued::Dead => "dead",
            Enqueued::Ended(_) => "ended",
            Enqueued::Full => "full",
            Enqueued::Elsewhere => "elsewhere",
        };
        counter!("evenkeel_queue_enqueued_total", "queue" => Arc::clone(&self.queue), "outcome" => outcome)
            .increment(1);
    }
}

/// Counts a conflict: two programs configure one queue differently.
pub(crate) fn conflict(queue: &str, about: &'static str) {
    counter!("evenkeel_queue_conflicts_total", "queue" => queue.to_owned(), "about" => about).increment(1);
}

metrics! {
    /// The metric handles of one consumer.
    pub(crate) struct ConsumerMetrics(queue) {
        queue: Arc<str> = queue();
        done: Counter = counter!("evenkeel_queue_handled_total", "queue" => queue(), "outcome" => "done");
        settled: Counter = counter!("evenkeel_queue_settlements_total", "queue" => queue(), "verdict" => "settled");
        pub(crate) undecodable: Counter =
            counter!("evenkeel_queue_handled_total", "queue" => queue(), "outcome" => "undecodable");
        pub(crate) timed_out: Counter =
            counter!("evenkeel_queue_handled_total", "queue" => queue(), "outcome" => "timed_out");
        pub(crate) leases_lost: Counter = counter!("evenkeel_queue_leases_lost_total", "queue" => queue());
        pub(crate) running: Gauge = gauge!("evenkeel_queue_running", "queue" => queue());
        pub(crate) handlers: HandlerTimes =
            HandlerTimes::new(histogram!("evenkeel_queue_handler_seconds", "queue" => queue()));
        pub(crate) lateness_seconds: Histogram = histogram!("evenkeel_queue_lateness_seconds", "queue" => queue());
        success: Gauge = gauge!("evenkeel_queue_claim_last_success_seconds", "queue" => queue());
    }
}

/// The times of handlers: a histogram, and totals for the process report.
pub(crate) struct HandlerTimes {
    seconds: Histogram,
    count: AtomicU64,
    micros: AtomicU64,
}

impl HandlerTimes {
    fn new(seconds: Histogram) -> Self {
        Self { seconds, count: AtomicU64::new(0), micros: AtomicU64::new(0) }
    }

    pub(crate) fn record(&self, took: Duration) {
        self.seconds.record(took);
        self.count.fetch_add(1, Relaxed);
        self.micros.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Relaxed);
    }

    /// The number of handlers that have returned, and the time that they took together, in ms.
    pub(crate) fn totals(&self) -> (u64, u64) {
        (self.count.load(Relaxed), self.micros.load(Relaxed) / 1_000)
    }
}

impl ConsumerMetrics {
    /// Records the time at which the store answered a claim.
    pub(crate) fn success(&self, unix_ms: u64) {
        self.success.set(unix_ms as f64 / 1000.0);
    }

    /// Counts a handler that has returned, by its outcome.
    pub(crate) fn handled(&self, outcome: &Outcome) {
        let outcome = match outcome {
            Outcome::Done => return self.done.increment(1),
            Outcome::Failed { .. } => "failed",
            Outcome::Snoozed { .. } => "snoozed",
            Outcome::Released => "released",
            Outcome::Dead { .. } => "dead",
        };
        counter!("evenkeel_queue_handled_total", "queue" => Arc::clone(&self.queue), "outcome" => outcome).increment(1);
    }

    /// Counts a settlement, by the store's verdict.
    pub(crate) fn settled(&self, verdict: Verdict) {
        let verdict = match verdict {
            Verdict::Settled => return self.settled.increment(1),
            Verdict::Lost => "lost",
            Verdict::Died => "died",
            Verdict::Discarded => "discarded",
        };
        counter!("evenkeel_queue_settlements_total", "queue" => Arc::clone(&self.queue), "verdict" => verdict)
            .increment(1);
    }

    /// Counts an expired lease that was taken back.
    pub(crate) fn rescued(&self, fate: Fate) {
        let fate = match fate {
            Fate::LeaseExpired => "lease_expired",
            Fate::Crashed => "crashed",
            Fate::Died => "died",
            Fate::Discarded => "discarded",
        };
        counter!("evenkeel_queue_rescued_total", "queue" => Arc::clone(&self.queue), "fate" => fate).increment(1);
    }

    /// Counts a failed call of a background loop; the loop repeats it.
    pub(crate) fn failed(&self, step: &'static str, error: &QueueError) {
        tracing::debug!(queue = %self.queue, step, %error, "a call of the consumer failed; retrying");
        counter!("evenkeel_queue_call_failures_total", "queue" => Arc::clone(&self.queue), "step" => step).increment(1);
    }
}
