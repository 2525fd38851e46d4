//! Waiting for somebody else's load: the store tells when the entry changes, and a timer is the backstop.
//!
//! Asking again and again costs the store a script for each time and each process, and the reader half a pause on average. Here
//! a reader says first that it waits, then reads the entry so that its next change is told (and may find what it waits for), and
//! then sleeps. A lapse of a lease is told by nobody: that is what the timer is for, and a lost message.

use crate::cache::core::Core;
use crate::cache::loading::load::ASK_AGAIN;
use evenkeel_protocol::cache::header::Entry;
use evenkeel_protocol::cache::steps::TrackedRead;
use evenkeel_protocol::cache::steps::Why;
use std::time::Duration;

/// The longest sleep: a message that was lost costs no more.
const BACKSTOP: Duration = Duration::from_secs(2);
/// By which part of itself the time to the end of a lease is prolonged at most, so that a fleet does not wake in one wave.
const JITTER: f64 = 0.125;
/// Shorter pauses would only ask more often.
const PAUSE_MIN: Duration = Duration::from_millis(1);

/// A reader's wait for somebody else's load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    /// When the store can say more, as far as it knows now.
    pub(crate) retry_after: Duration,
    /// Whether the last load failed: then only time brings news.
    pub(crate) is_failing: bool,
    /// Waits of this reader so far.
    pub(crate) attempt: u32,
    /// The patience that is left.
    pub(crate) left: Duration,
}

impl<V: 'static> Core<V> {
    /// Waits until there may be news of one of `wanted`.
    pub(crate) async fn wait_for_change(&self, wanted: &[(&[u8], Why)], wait: Wait) {
        self.metrics.waits.increment(1);
        let keys: Vec<&[u8]> = wanted.iter().map(|(key, _)| *key).collect();
        // Before the entry is read: what changes after that is news.
        let waiter = self.tracker.change_waiters.register(keys.iter().copied());
        let pause = if self.store.tracks() {
            wait.pause(&Box::pin(self.store.read_many_tracked(&keys)).await, wanted, self.store.now_ms())
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
    fn pause(&self, reads: &[TrackedRead], wanted: &[(&[u8], Why)], now_ms: u64) -> Duration {
        let has_changed = reads.iter().zip(wanted).any(|(read, (_, why))| has_changed(read, *why, now_ms));
        if has_changed && self.attempt == 0 {
            // It landed between the lease and this read.
            return Duration::ZERO;
        }
        if has_changed || reads.iter().any(|read| read.tracked_on.is_none()) {
            // This process's idea of the time may be off; the store decides, but not as fast as it can answer.
            return self.poll();
        }
        let jitter = self.retry_after.mul_f64(JITTER * rand::random::<f64>());
        (self.retry_after + jitter).min(BACKSTOP).max(PAUSE_MIN)
    }

    /// Without anybody who tells: a load may land at any moment, patience after a failure only ends.
    fn poll(&self) -> Duration {
        let pause =
            if self.is_failing { self.retry_after } else { ASK_AGAIN.delay(self.attempt).min(self.retry_after) };
        pause.max(PAUSE_MIN)
    }
}

/// Whether the entry does not look as it must during a load: the value is there, or no lease and no window keeps others off.
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
