//! User code that blocks its thread.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// Whether the blocking code may continue.
static GATE: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

/// Blocks the thread until [`unblock`], but for a second at most: a runtime may have put the one behind it that calls that.
pub(crate) fn block() {
    let closed = GATE.0.lock().unwrap();
    drop(GATE.1.wait_timeout_while(closed, Duration::from_secs(1), |open| !*open).unwrap());
}

/// Releases the blocked code, and lets later calls pass.
pub(crate) fn unblock() {
    *GATE.0.lock().unwrap() = true;
    GATE.1.notify_all();
}

/// What comes blocks again.
pub(crate) fn block_again() {
    *GATE.0.lock().unwrap() = false;
}
