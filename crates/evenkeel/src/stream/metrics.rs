//! The metrics of a stream; docs/metrics.md lists the names. Handles are registered once, when the stream is opened or a consumer begins, so
//! install the recorder before that.

use evenkeel_link::support::guard;
use evenkeel_protocol::stream::StreamError;
use evenkeel_protocol::stream::steps::{Appended, Outcome, Verdict};
use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The metric handles of one stream.
pub(crate) struct StreamMetrics {
    appended: Counter,
    duplicate: Counter,
    out_of_order: Counter,
    full: Counter,
    pub(crate) entry_bytes: Histogram,
}

impl StreamMetrics {
    pub(crate) fn register(stream: &Arc<str>) -> Self {
        let of = |outcome: &'static str| counter!("evenkeel_stream_appended_total", "stream" => Arc::clone(stream), "outcome" => outcome);
        Self {
            appended: of("appended"),
            duplicate: of("duplicate"),
            out_of_order: of("out_of_order"),
            full: of("full"),
            entry_bytes: histogram!("evenkeel_stream_entry_bytes", "stream" => Arc::clone(stream)),
        }
    }

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

/// The metric handles of one consumer.
pub(crate) struct ConsumerMetrics {
    stream: Arc<str>,
    group: Arc<str>,
    done: Counter,
    settled: Counter,
    pub(crate) undecodable: Counter,
    pub(crate) timed_out: Counter,
    pub(crate) redelivered: Counter,
    pub(crate) leases_lost: Counter,
    pub(crate) lost: Counter,
    pub(crate) blocked: Counter,
    #[cfg(feature = "lock")]
    pub(crate) lock_busy: Counter,
    #[cfg(feature = "lock")]
    pub(crate) locks_lost: Counter,
    pub(crate) running: Gauge,
    pub(crate) partitions: Gauge,
    pub(crate) handler_seconds: Histogram,
    pub(crate) latency_seconds: Histogram,
    success: Gauge,
    pub(crate) lag_seconds: Gauge,
    pub(crate) lag_entries: Gauge,
    pub(crate) pending: Gauge,
    pub(crate) oldest_pending_seconds: Gauge,
    pub(crate) dead_letters: Gauge,
    /// The steps of which it was logged that Redis refuses them.
    refused: Mutex<BTreeSet<&'static str>>,
}

impl ConsumerMetrics {
    pub(crate) fn register(stream: &Arc<str>, group: &str) -> Self {
        let group: Arc<str> = group.into();
        let (s, g) = (|| Arc::clone(stream), || Arc::clone(&group));
        Self {
            done: counter!("evenkeel_stream_handled_total", "stream" => s(), "group" => g(), "outcome" => "done"),
            settled: counter!("evenkeel_stream_settlements_total", "stream" => s(), "group" => g(), "verdict" => "settled"),
            undecodable: counter!("evenkeel_stream_handled_total", "stream" => s(), "group" => g(), "outcome" => "undecodable"),
            timed_out: counter!("evenkeel_stream_handled_total", "stream" => s(), "group" => g(), "outcome" => "timed_out"),
            redelivered: counter!("evenkeel_stream_redelivered_total", "stream" => s(), "group" => g()),
            leases_lost: counter!("evenkeel_stream_leases_lost_total", "stream" => s(), "group" => g()),
            lost: counter!("evenkeel_stream_lost_total", "stream" => s(), "group" => g()),
            blocked: counter!("evenkeel_stream_blocked_total", "stream" => s(), "group" => g()),
            #[cfg(feature = "lock")]
            lock_busy: counter!("evenkeel_stream_lock_busy_total", "stream" => s(), "group" => g()),
            #[cfg(feature = "lock")]
            locks_lost: counter!("evenkeel_stream_locks_lost_total", "stream" => s(), "group" => g()),
            running: gauge!("evenkeel_stream_running", "stream" => s(), "group" => g()),
            partitions: gauge!("evenkeel_stream_partitions", "stream" => s(), "group" => g()),
            handler_seconds: histogram!("evenkeel_stream_handler_seconds", "stream" => s(), "group" => g()),
            latency_seconds: histogram!("evenkeel_stream_latency_seconds", "stream" => s(), "group" => g()),
            success: gauge!("evenkeel_stream_read_last_success_seconds", "stream" => s(), "group" => g()),
            lag_seconds: gauge!("evenkeel_stream_lag_seconds", "stream" => s(), "group" => g()),
            lag_entries: gauge!("evenkeel_stream_lag_entries", "stream" => s(), "group" => g()),
            pending: gauge!("evenkeel_stream_pending", "stream" => s(), "group" => g()),
            oldest_pending_seconds: gauge!("evenkeel_stream_oldest_pending_seconds", "stream" => s(), "group" => g()),
            dead_letters: gauge!("evenkeel_stream_dead_letters", "stream" => s(), "group" => g()),
            refused: Mutex::default(),
            stream: Arc::clone(stream),
            group,
        }
    }

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
    /// a key, this is logged once for each step.
    pub(crate) fn failed(&self, step: &'static str, error: &StreamError) {
        if !error.is_retryable() && guard("stream_refusal_logged") && self.refused.lock().insert(step) {
            tracing::error!(
                stream = %self.stream, group = %self.group, step, %error,
                "a call of this consumer fails, and a repetition does not mend it; it is repeated until the cause is removed (logged once for each step)"
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
