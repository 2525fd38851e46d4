//! Response time-outs without a timer for each command.
//!
//! A timer per command costs more than the rest of a `GET`: it is inserted into and removed from the runtime's shared timer wheel, and
//! almost none fires. Here a command registers with the spoke of the period in which it began, and one task turns the wheel. No clock
//! is read.
//!
//! It uses tokio only through `parts`, so that a test can explore all interleavings of a call with the end of its epoch:
//! `crates/evenkeel/tests/it/hermetic/wheel_loom.rs` compiles this file with parts of its own.

use super::parts::{Notified, Notify};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The number of periods in a time-out: a command times out between 8/8 and 9/8 of it.
pub(super) const PERIODS: u32 = 8;
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
    /// Registers a command that begins now, unless its epoch is over. Ready when the time-out of the command has passed, or its epoch has
    /// ended. The check follows the registration: an epoch that ends later wakes the command.
    pub(crate) fn register(&self, is_over: impl FnOnce() -> bool) -> Option<Notified<'_>> {
        let expiry = self.expiry();
        (!is_over()).then_some(expiry)
    }

    fn expiry(&self) -> Notified<'_> {
        self.shards[shard()].spokes[self.period.load(Relaxed) % SPOKES].notified()
    }

    /// Ends one period: wakes the commands that began before the last `PERIODS` periods.
    pub(crate) fn turn(&self) {
        let period = self.period.fetch_add(1, Relaxed).wrapping_add(1);
        let due = period.wrapping_sub(PERIODS as usize + 1) % SPOKES;
        self.shards.iter().for_each(|shard| shard.spokes[due].notify_waiters());
    }

    /// Wakes all registered commands, because their epoch is over.
    pub(crate) fn end(&self) {
        self.shards.iter().flat_map(|shard| &shard.spokes).for_each(Notify::notify_waiters);
    }
}

/// The shard of this thread, assigned round-robin.
fn shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static MINE: usize = NEXT.fetch_add(1, Relaxed) % SHARDS);
    MINE.with(|mine| *mine)
}
