//! What goes wrong in one process: tasks that are cancelled, and holders that stand still for longer than their lease.

use crate::strategy::{LockTerms, Stalls};
use rand::Rng;
use rand::rngs::StdRng;
use std::time::Duration;

/// Of how many operations one is cancelled somewhere on its way.
const CANCELLED_OF: u32 = 50;

/// The latest moment of that.
const CANCEL_MAX: Duration = Duration::from_millis(20);

/// Of how many holders one stands still.
const STALLED_OF: u32 = 100;

/// Locks of a load in one process: nobody holds one for longer, whatever it is doing.
pub(super) const TERMS: LockTerms =
    LockTerms { ttl: Duration::from_millis(200), max_hold: Duration::from_millis(200), wait: Duration::from_secs(60) };

/// Somewhat longer than a lock is held.
const STALL: Duration = Duration::from_millis(300);

/// When the operation is to be cancelled, if it is.
pub(super) fn cancelled_after(random: &mut StdRng) -> Option<Duration> {
    random.random_ratio(1, CANCELLED_OF).then(|| CANCEL_MAX.mul_f64(random.random_range(0.0..1.0)))
}

/// Holders that stand still, now and then.
#[expect(clippy::disallowed_methods, reason = "the fault is a delay")]
pub(super) fn stalls() -> Stalls {
    Stalls::new(|_| async {
        if rand::rng().random_ratio(1, STALLED_OF) {
            tokio::time::sleep(STALL).await;
        }
    })
}
