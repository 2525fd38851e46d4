//! Response time-outs without a timer for each command.
//!
//! A timer per command costs more than the rest of a `GET`: it is inserted into and removed from the runtime's shared timer wheel, and
//! almost none fires. Here a command registers with the spoke of the period in which it began, and one task turns the wheel. No clock
//! is read.

use crate::clock::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// The number of periods in a time-out: a command times out between 8/8 and 9/8 of it.
const PERIODS: u32 = 8;
/// More than `PERIODS + 1`, so that a spoke has fired before it is used again.
const SPOKES: usize = 16;
/// Reduces contention between threads. Without shards two busy threads spend more time on a spoke's lock than on the command.
const SHARDS: usize = 8;

/// The spokes with which pending commands are registered.
#[derive(Default)]
pub(crate) struct Wheel {
    period: AtomicUsize,
    shards: [Shard; SHARDS],
}

/// The spokes of one shard, on their own cache lines.
#[derive(Default)]
#[repr(align(128))]
struct Shard {
    spokes: [Notify; SPOKES],
}

impl Wheel {
    /// Ready when the time-out of a command that begins now has passed.
    pub(crate) fn expiry(&self) -> Notified<'_> {
        self.shards[shard()].spokes[self.period.load(Relaxed) % SPOKES].notified()
    }

    /// Ends one period: wakes the commands that began before the last `PERIODS` periods.
    pub(crate) fn turn(&self) {
        let period = self.period.fetch_add(1, Relaxed).wrapping_add(1);
        let due = period.wrapping_sub(PERIODS as usize + 1) % SPOKES;
        self.shards.iter().for_each(|shard| shard.spokes[due].notify_waiters());
    }
}

/// The shard of this thread, assigned round-robin.
fn shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static MINE: usize = NEXT.fetch_add(1, Relaxed) % SHARDS);
    MINE.with(|mine| *mine)
}

/// Turns `wheel` until the task is aborted with its connection.
pub(crate) async fn turn_periodically(wheel: Arc<Wheel>, clock: Clock, timeout: Duration) {
    let period = (timeout / PERIODS).max(Duration::from_millis(1));
    loop {
        clock.sleep(period).await;
        wheel.turn();
    }
}

#[cfg(test)]
mod tests {
    use super::{PERIODS, Wheel};
    use std::future::Future;
    use std::pin::{Pin, pin};
    use std::task::{Context, Waker};

    fn is_ready(future: Pin<&mut impl Future>) -> bool {
        future.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn command_expires_after_its_full_timeout() {
        let wheel = Wheel::default();
        // Starts at every position, so that the wheel wraps around.
        for _ in 0..40 {
            let mut expiry = pin!(wheel.expiry());
            for _ in 0..PERIODS {
                wheel.turn();
                assert!(!is_ready(expiry.as_mut()));
            }
            wheel.turn();
            assert!(is_ready(expiry.as_mut()));
        }
    }

    #[test]
    fn each_command_has_its_own_timeout() {
        let wheel = Wheel::default();
        let mut early = pin!(wheel.expiry());
        wheel.turn();
        let mut late = pin!(wheel.expiry());
        (0..PERIODS).for_each(|_| wheel.turn());
        assert!(is_ready(early.as_mut()) && !is_ready(late.as_mut()));
        wheel.turn();
        assert!(is_ready(late.as_mut()));
    }
}
