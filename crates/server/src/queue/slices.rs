//! [`Slices`]: many letters, some at a time, so that it can be stopped.

use evenkeel::clock::Clock;
use evenkeel::queue::JobId;
use std::slice::Chunks;
use std::time::Duration;
use tokio::sync::watch;

/// Letters of a slice without a rate, and the pause after it.
const SLICE: usize = 500;
const PAUSE: Duration = Duration::from_millis(100);
/// The time of a slice with a rate: what a stop cannot take back.
pub(crate) const SLICE_SECONDS: u32 = 10;

/// Slices of letters: of 500, or of as many as become due in ten seconds at a rate, and a pause between two of them.
pub(crate) struct Slices<'a> {
    left: Chunks<'a, JobId>,
    pause: Duration,
    is_first: bool,
    stop: watch::Receiver<bool>,
    clock: Clock,
}

impl<'a> Slices<'a> {
    /// Once `stop` is true, no further slice follows.
    pub(crate) fn new(ids: &'a [JobId], rate: Option<u32>, stop: watch::Receiver<bool>) -> Self {
        let (slice, pause) = match rate {
            None => (SLICE, PAUSE),
            Some(rate) => {
                let slice = usize::try_from(rate.saturating_mul(SLICE_SECONDS)).unwrap_or(usize::MAX);
                (slice, Duration::from_secs(u64::from(SLICE_SECONDS)))
            }
        };
        Self { left: ids.chunks(slice.max(1)), pause, is_first: true, stop, clock: Clock::system() }
    }

    /// The next slice; `None`: it was the last one, or it is stopped.
    pub(crate) async fn next(&mut self) -> Option<&'a [JobId]> {
        if !self.is_first && self.left.len() > 0 {
            let stopped = async {
                // Without a sender nothing stops it.
                if self.stop.wait_for(|stop| *stop).await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            let _ = self.clock.timeout(self.pause, stopped).await;
        }
        self.is_first = false;
        if self.is_stopped() { None } else { self.left.next() }
    }

    /// Whether slices are left because it is stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        *self.stop.borrow() && self.left.len() > 0
    }
}
