//! Response time-outs without a timer for each command.
//!
//! A timer per command costs more than the rest of a `GET`: it goes in and out of the runtime's shared wheel, and almost none
//! ever fires. Here a command registers with the spoke of the period it began in, and one task turns the wheel. No clock is read.

use crate::clock::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// Periods a time-out is divided into: a command is given up between 8/8 and 9/8 of it.
const PERIODS: u32 = 8;
/// More than `PERIODS + 1`, so that a spoke has fired before it is used again.
const SPOKES: usize = 16;

/// The spokes that waiting commands hang on.
#[derive(Default)]
pub(super) struct Wheel {
    period: AtomicUsize,
    spokes: [Notify; SPOKES],
}

impl Wheel {
    /// Ready when the time-out of a command that begins now has passed.
    pub(super) fn expiry(&self) -> Notified<'_> {
        self.spokes[self.period.load(Relaxed) % SPOKES].notified()
    }

    /// Ends one period: wakes the commands that began before the last `PERIODS` ones.
    pub(super) fn turn(&self) {
        let period = self.period.fetch_add(1, Relaxed).wrapping_add(1);
        self.spokes[period.wrapping_sub(PERIODS as usize + 1) % SPOKES].notify_waiters();
    }
}

/// Turns `wheel` for as long as its connection lives.
pub(super) async fn keep_turning(wheel: Arc<Wheel>, clock: Clock, timeout: Duration) {
    let period = (timeout / PERIODS).max(Duration::from_millis(1));
    loop {
        clock.sleep(period).await;
        wheel.turn();
    }
}
