//! Waiting for another reader's load: the store notifies of changes of the entry, and a timer is the fallback.
//!
//! Polling would cost the store one script per poll and process, and the reader half an interval on average. Instead, a reader
//! first registers as a waiter, then reads the entry with tracking (the value may be there already), and then sleeps. Redis
//! sends no notification when a lease expires, and a message can be lost; the timer covers both.

use crate::cache::core::Core;
use crate::cache::loading::load::POLL_DELAY;
use evenkeel_protocol::cache::header::Entry;
use evenkeel_protocol::cache::steps::TrackedRead;
use evenkeel_protocol::cache::steps::Why;
use std::time::Duration;

/// The longest sleep, which is also the cost of a lost message.
const BACKSTOP: Duration = Duration::from_secs(2);
/// The maximum jitter of the time to the end of a lease, as a fraction of it, so that processes do not wake in one wave.
const JITTER: f64 = 0.125;
/// Shorter pauses would only poll more often.
const PAUSE_MIN: Duration = Duration::from_millis(1);

/// A reader's wait for another reader's load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    /// The latest time at which the state of the entry changes, as far as the store knows.
    pub(crate) retry_after: Duration,
    /// Whether the last load failed; then the state changes only with time.
    pub(crate) is_failing: bool,
    /// Number of earlier waits of this reader.
    pub(crate) attempt: u32,
    /// The remaining time until `wait_max`.
    pub(crate) left: Duration,
}

impl<V: 'static> Core<V> {
    /// Waits until one of `requested` may have changed.
    pub(crate) async fn wait_for_change(&self, requested: &[(&[u8], Why)], wait: Wait) {
        self.metrics.waits.increment(1);
        let keys: Vec<&[u8]> = requested.iter().map(|(key, _)| *key).collect();
        // Registered before the entry is read, so that every later change wakes this reader.
        let waiter = self.tracker.change_waiters.register(keys.iter().copied());
        let pause = if self.store.tracks() {
            wait.pause(&Box::pin(self.store.read_many_tracked(&keys)).await, requested, self.store.now_ms())
        } else {
            wait.poll()
        };
        tokio::select! {
            biased;
            () = waiter.changed() => self.metrics.woken.increment(1),
            () = self.clock.sleep(pause.min(wait.left)) => {}
        }
    }
}

impl Wait {
    fn pause(&self, reads: &[TrackedRead], requested: &[(&[u8], Why)], now_ms: u64) -> Duration {
        let has_changed = reads.iter().zip(requested).any(|(read, (_, why))| has_changed(read, *why, now_ms));
        if has_changed && self.attempt == 0 {
            // The value was stored between the lease request and this read.
            return Duration::ZERO;
        }
        if has_changed || reads.iter().any(|read| read.tracked_on.is_none()) {
            // This process's estimate of the store's time may be off. The store decides, but is not polled without a pause.
            return self.poll();
        }
        let jitter = self.retry_after.mul_f64(JITTER * rand::random::<f64>());
        (self.retry_after + jitter).min(BACKSTOP).max(PAUSE_MIN)
    }

    /// Without notifications: a load may complete at any moment, while the pause after a failure only elapses.
    fn poll(&self) -> Duration {
        let pause =
            if self.is_failing { self.retry_after } else { POLL_DELAY.delay(self.attempt).min(self.retry_after) };
        pause.max(PAUSE_MIN)
    }
}

/// Whether the entry differs from its state during a load: it has a value, or no lease and no window.
fn has_changed(read: &TrackedRead, why: Why, now_ms: u64) -> bool {
    let Ok(Some(bytes)) = &read.answer else { return read.answer.is_ok() };
    let Ok(Entry { header, .. }) = Entry::parse(bytes.clone()) else { return true };
    let is_free = header.lease.is_none() && header.windows.is_empty();
    is_free
        || header.value.is_some_and(|value| {
            let does = match why {
                Why::Miss | Why::Stale => true,
                Why::Refresh => false,
                Why::Below(version) => value.version.is_some_and(|stored| stored >= version),
                Why::Older(age_ms) => now_ms.saturating_sub(value.loaded_at_ms) <= age_ms,
            };
            !value.stale && now_ms < value.hard_until_ms && does
        })
}
