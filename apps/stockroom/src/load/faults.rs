//! Faults in one process: cancelled tasks, and lock holders that pause for longer than their lease.

use crate::strategy::Pauses;
use evenkeel::lock::LockTerms;
use rand::Rng;
use rand::rngs::StdRng;
use std::time::Duration;

/// One of so many operations is cancelled.
const CANCELLED_OF: u32 = 50;

/// The latest time of a cancellation.
const CANCEL_MAX: Duration = Duration::from_millis(20);

/// One of so many lock holders pauses.
const PAUSED_OF: u32 = 100;

/// Longer than [`lock_terms`] allow to hold a lock.
const PAUSE: Duration = Duration::from_millis(300);

/// The time after which the operation is cancelled, if it is.
pub(super) fn cancelled_after(random: &mut StdRng) -> Option<Duration> {
    random.random_ratio(1, CANCELLED_OF).then(|| CANCEL_MAX.mul_f64(random.random_range(0.0..1.0)))
}

/// Pauses some lock holders.
#[expect(clippy::disallowed_methods, reason = "the fault is a delay")]
pub(super) fn pauses() -> Pauses {
    Pauses::new(|_| async {
        if rand::rng().random_ratio(1, PAUSED_OF) {
            tokio::time::sleep(PAUSE).await;
        }
    })
}

/// Lock terms of a load in one process. The maximum hold time makes a paused holder lose its lock: within one process, renewals would
/// continue during the pause.
pub(super) fn lock_terms() -> LockTerms {
    let lease = Duration::from_millis(200);
    LockTerms::default().ttl(lease).max_hold(lease).wait(Duration::from_secs(60))
}
