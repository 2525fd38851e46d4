//! The metrics of clicks, and the log line about dropped ones.

use evenkeel::clock::Clock;
use evenkeel::stream::StreamError;
use metrics::{Counter, Gauge, counter, describe_counter, describe_gauge, gauge};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tracing::warn;
use web::signed;

/// The least time between two log lines about dropped clicks.
const LOG_EVERY_MS: u64 = 10_000;

/// Why this process does not append a click.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dropped {
    /// The buffer of this process is full.
    BufferFull,
    /// The stream has reached its maximum number of entries.
    StreamFull,
    /// The service was stopping.
    Stopping,
}

/// The metrics of clicks.
pub(super) struct ClickMetrics {
    appended: Counter,
    folded: Counter,
    last_append: Gauge,
    buffer_full: Counter,
    stream_full: Counter,
    refused: Counter,
    stopping: Counter,
    /// Dropped clicks that the log does not mention yet.
    unreported: AtomicU64,
    reported_at_ms: AtomicU64,
    /// The last refusal that the log does not mention yet.
    refusal: Mutex<Option<String>>,
    /// Clicks that this process has appended, minus those that it has folded; of use if it is the only process.
    open: watch::Sender<i64>,
}

impl ClickMetrics {
    pub(super) fn register() -> Self {
        describe_counter!("shortlink_clicks_appended_total", "Clicks appended to the stream");
        describe_counter!("shortlink_clicks_folded_total", "Clicks added to the counters in the database");
        describe_counter!("shortlink_clicks_dropped_total", "Clicks that are not counted, by reason");
        describe_gauge!("shortlink_clicks_last_append_timestamp_seconds", "Unix time of the last append of clicks");
        let dropped = |reason: &'static str| counter!("shortlink_clicks_dropped_total", "reason" => reason);
        Self {
            appended: counter!("shortlink_clicks_appended_total"),
            folded: counter!("shortlink_clicks_folded_total"),
            last_append: gauge!("shortlink_clicks_last_append_timestamp_seconds"),
            buffer_full: dropped("buffer_full"),
            stream_full: dropped("stream_full"),
            refused: dropped("refused"),
            stopping: dropped("stopping"),
            unreported: AtomicU64::new(0),
            reported_at_ms: AtomicU64::new(0),
            refusal: Mutex::new(None),
            open: watch::Sender::new(0),
        }
    }

    pub(super) fn dropped(&self, why: Dropped, clicks: u64) {
        let counter = match why {
            Dropped::BufferFull => &self.buffer_full,
            Dropped::StreamFull => &self.stream_full,
            Dropped::Stopping => &self.stopping,
        };
        counter.increment(clicks);
        self.unreported.fetch_add(clicks, Ordering::Relaxed);
    }

    /// Clicks that Redis refused for good.
    pub(super) fn refused(&self, clicks: u64, error: &StreamError) {
        self.refused.increment(clicks);
        self.unreported.fetch_add(clicks, Ordering::Relaxed);
        *self.refusal.lock() = Some(error.to_string());
    }

    /// Logs dropped clicks, at most once per [`LOG_EVERY_MS`].
    pub(super) fn report_dropped(&self, clock: &Clock) {
        let Some((clicks, refusal)) = self.due_report(clock) else { return };
        let refusal = refusal.as_deref();
        warn!(
            clicks,
            refusal, "clicks were dropped and are not counted; shortlink_clicks_dropped_total has the reasons"
        );
    }

    /// The clicks that were dropped since the last report, and the last refusal among them; `None` if none was, or the last report is not
    /// long ago.
    fn due_report(&self, clock: &Clock) -> Option<(u64, Option<String>)> {
        if self.unreported.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let (now, last) = (clock.unix_ms(), self.reported_at_ms.load(Ordering::Relaxed));
        if now.abs_diff(last) < LOG_EVERY_MS {
            return None;
        }
        self.reported_at_ms.store(now, Ordering::Relaxed);
        Some((self.unreported.swap(0, Ordering::Relaxed), self.refusal.lock().take()))
    }

    pub(super) fn appended(&self, clicks: u64, now_ms: u64) {
        self.appended.increment(clicks);
        self.last_append.set(Duration::from_millis(now_ms).as_secs_f64());
        self.open.send_modify(|open| *open = open.saturating_add(signed(clicks)));
    }

    /// `delivered` clicks are settled, of which `added` were new.
    pub(super) fn folded(&self, delivered: u64, added: u64) {
        self.folded.increment(added);
        self.open.send_modify(|open| *open = open.saturating_sub(signed(delivered)));
    }

    /// Waits until everything that this process has appended is folded. Only if no other process folds.
    pub(super) async fn all_folded(&self) {
        let _ = self.open.subscribe().wait_for(|open| *open <= 0).await;
    }
}

#[cfg(test)]
mod tests {
    use super::{ClickMetrics, Dropped, LOG_EVERY_MS};
    use evenkeel::stream::StreamError;
    use evenkeel::testing::TestClock;
    use std::time::Duration;

    #[test]
    fn drops_are_reported_once_per_interval_with_number_and_refusal() {
        let (clock, metrics) = (TestClock::default(), ClickMetrics::register());
        let refused = StreamError::Invalid("no permission".to_owned());
        let report = || metrics.due_report(&clock.clock());
        assert_eq!(report(), None, "nothing was dropped");
        metrics.refused(3, &refused);
        assert_eq!(report(), Some((3, Some("no permission".to_owned()))), "the first one is reported at once");
        for _ in 0..100 {
            metrics.refused(1, &refused);
            assert_eq!(report(), None);
        }
        clock.advance(Duration::from_millis(LOG_EVERY_MS));
        assert_eq!(report(), Some((100, Some("no permission".to_owned()))));
        clock.advance(Duration::from_millis(LOG_EVERY_MS));
        assert_eq!(report(), None, "all were reported");
        metrics.dropped(Dropped::BufferFull, 2);
        assert_eq!(report(), Some((2, None)));
    }
}
