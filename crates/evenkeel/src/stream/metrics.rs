//! The metrics of a stream; docs/metrics.md lists the names. Handles are registered once, when the stream is opened or a consumer begins, so
//! install the recorder before that.

use evenkeel_link::support::{Recurring, guard};
use evenkeel_protocol::stream::StreamError;
use evenkeel_protocol::stream::steps::{Appended, Outcome, Verdict};
use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use std::sync::Arc;

metrics! {
    /// The metric handles of one stream.
    pub(crate) struct StreamMetrics(stream) {
        appended: Counter = counter!("evenkeel_stream_appended_total", "stream" => stream(), "outcome" => "appended");
        duplicate: Counter = counter!("evenkeel_stream_appended_total", "stream" => stream(), "outcome" => "duplicate");
        out_of_order: Counter = counter!("evenkeel_stream_appended_total", "stream" => stream(), "outcome" => "out_of_order");
        full: Counter = counter!("evenkeel_stream_appended_total", "stream" => stream(), "outcome" => "full");
        pub(crate) entry_bytes: Histogram = histogram!("evenkeel_stream_entry_bytes", "stream" => stream());
    }
}

impl StreamMetrics {
    /// Counts the reply for one entry.
    pub(crate) fn appended(&self, reply: Appended) {
        match reply {
            Appended::Appended(_) => self.appended.increment(1),
            Appended::Duplicate(_) => self.duplicate.increment(1),
            Appended::OutOfOrder { .. } => self.out_of_order.increment(1),
            Appended::Full => self.full.increment(1),
        }
    }
}

metrics! {
    /// The metric handles of one consumer.
    pub(crate) struct ConsumerMetrics(stream, group) {
        stream: Arc<str> = stream();
        group: Arc<str> = group();
        done: Counter = counter!("evenkeel_stream_handled_total", "stream" => stream(), "group" => group(), "outcome" => "done");
        settled: Counter = counter!("evenkeel_stream_settlements_total", "stream" => stream(), "group" => group(), "verdict" => "settled");
        pub(crate) undecodable: Counter =
            counter!("evenkeel_stream_handled_total", "stream" => stream(), "group" => group(), "outcome" => "undecodable");
        pub(crate) timed_out: Counter =
            counter!("evenkeel_stream_handled_total", "stream" => stream(), "group" => group(), "outcome" => "timed_out");
        pub(crate) redelivered: Counter = counter!("evenkeel_stream_redelivered_total", "stream" => stream(), "group" => group());
        pub(crate) leases_lost: Counter = counter!("evenkeel_stream_leases_lost_total", "stream" => stream(), "group" => group());
        pub(crate) lost: Counter = counter!("evenkeel_stream_lost_total", "stream" => stream(), "group" => group());
        pub(crate) blocked: Counter = counter!("evenkeel_stream_blocked_total", "stream" => stream(), "group" => group());
        #[cfg(feature = "lock")]
        pub(crate) lock_busy: Counter = counter!("evenkeel_stream_lock_busy_total", "stream" => stream(), "group" => group());
        #[cfg(feature = "lock")]
        pub(crate) locks_lost: Counter = counter!("evenkeel_stream_locks_lost_total", "stream" => stream(), "group" => group());
        pub(crate) running: Gauge = gauge!("evenkeel_stream_running", "stream" => stream(), "group" => group());
        pub(crate) partitions: Gauge = gauge!("evenkeel_stream_partitions", "stream" => stream(), "group" => group());
        pub(crate) handler_seconds: Histogram = histogram!("evenkeel_stream_handler_seconds", "stream" => stream(), "group" => group());
        pub(crate) latency_seconds: Histogram = histogram!("evenkeel_stream_latency_seconds", "stream" => stream(), "group" => group());
        success: Gauge = gauge!("evenkeel_stream_read_last_success_seconds", "stream" => stream(), "group" => group());
        pub(crate) lag_seconds: Gauge = gauge!("evenkeel_stream_lag_seconds", "stream" => stream(), "group" => group());
        pub(crate) lag_entries: Gauge = gauge!("evenkeel_stream_lag_entries", "stream" => stream(), "group" => group());
        pub(crate) pending: Gauge = gauge!("evenkeel_stream_pending", "stream" => stream(), "group" => group());
        pub(crate) oldest_pending_seconds: Gauge = gauge!("evenkeel_stream_oldest_pending_seconds", "stream" => stream(), "group" => group());
        pub(crate) dead_letters: Gauge = gauge!("evenkeel_stream_dead_letters", "stream" => stream(), "group" => group());
        /// The steps of which it was logged that Redis refuses them.
        refused: Recurring = Recurring::default();
    }
}

impl ConsumerMetrics {
    /// Records the time at which the store answered a read.
    pub(crate) fn success(&self, unix_ms: u64) {
        self.success.set(unix_ms as f64 / 1000.0);
    }

    /// Counts a handler that has returned, by its outcome.
    pub(crate) fn handled(&self, outcome: &Outcome) {
        let outcome = match outcome {
            Outcome::Done => return self.done.increment(1),
            Outcome::Retry { .. } => "retried",
            Outcome::Snooze { .. } => "snoozed",
            Outcome::Dead { .. } => "dead",
        };
        let (stream, group) = (Arc::clone(&self.stream), Arc::clone(&self.group));
        counter!("evenkeel_stream_handled_total", "stream" => stream, "group" => group, "outcome" => outcome)
            .increment(1);
    }

    /// Counts a settlement, by the store's verdict.
    pub(crate) fn settled(&self, verdict: Verdict) {
        let verdict = match verdict {
            Verdict::Settled => return self.settled.increment(1),
            Verdict::AlreadySettled => "already_settled",
            Verdict::Stale => "stale",
        };
        let (stream, group) = (Arc::clone(&self.stream), Arc::clone(&self.group));
        counter!("evenkeel_stream_settlements_total", "stream" => stream, "group" => group, "verdict" => verdict)
            .increment(1);
    }

    /// Counts a lock that could not be acquired, because its store did not answer.
    #[cfg(feature = "lock")]
    pub(crate) fn lock_failed(&self, error: &crate::lock::LockError) {
        self.repeated("lock", error);
    }

    /// Counts a failed call of a consumer, which repeats it. If a repetition does not mend it, for example a value of another program under
    /// a key, this is logged for each step, and again every ten minutes.
    pub(crate) fn failed(&self, step: &'static str, error: &StreamError) {
        let is_refused = !error.is_retryable() && guard("stream_refusal_logged");
        if let Some(times) = is_refused.then(|| self.refused.line_due(step, &"")).flatten() {
            tracing::error!(
                stream = %self.stream, group = %self.group, step, %error, times,
                "a call of this consumer fails, and a repetition does not mend it; it is repeated until the cause is removed (logged for each step, and \
                 again every ten minutes)"
            );
        }
        self.repeated(step, error);
    }

    fn repeated(&self, step: &'static str, error: &dyn std::fmt::Display) {
        tracing::debug!(stream = %self.stream, group = %self.group, step, %error, "a call of the consumer failed; retrying");
        let (stream, group) = (Arc::clone(&self.stream), Arc::clone(&self.group));
        counter!("evenkeel_stream_call_failures_total", "stream" => stream, "group" => group, "step" => step)
            .increment(1);
    }
}
