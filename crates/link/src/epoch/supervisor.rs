//! Keeps the link open: waits for the end of an epoch, makes the next one.

use super::health::EndReason;
use super::open::open;
use super::shared::Shared;
use super::state::LinkState;
use crate::support::guard::guard;
use crate::support::retry::Backoff;
use std::sync::Arc;
use std::time::Duration;

/// Between attempts. At most one second, so that a server that came back is found soon; jittered, so that a fleet does not
/// come back in one wave.
const BACKOFF: Backoff = Backoff { delay_min: Duration::from_millis(20), delay_max: Duration::from_secs(1) };

/// Runs until the link is closed.
pub(crate) async fn supervise(shared: Arc<Shared>) {
    let mut failures = 0;
    while *shared.state.borrow() != LinkState::Closed {
        failures = run_once(&shared, failures).await;
    }
}

/// One step: outlives the current epoch, or tries to make one. Returns the failures in a row.
async fn run_once(shared: &Shared, failures: u32) -> u32 {
    if let Some(epoch) = shared.current.load_full() {
        let reason = epoch.over().await;
        // A shutdown has put the epoch away itself.
        if reason != EndReason::Shutdown && reason != EndReason::RuntimeEnded {
            shared.retire(&epoch, reason);
        }
        return 0;
    }
    match open(shared).await {
        Ok(epoch) => {
            shared.publish(&epoch);
            shared.metrics.supervisor_success.set(unix_seconds(shared));
            0
        }
        Err(error) => {
            shared.report(&error.reason);
            tracing::debug!(reason = error.reason, failures, "no new epoch");
            shared.clock.sleep(BACKOFF.delay(failures)).await;
            failures.saturating_add(1)
        }
    }
}

fn unix_seconds(shared: &Shared) -> f64 {
    shared.clock.unix_ms() as f64 / 1000.0
}

/// Between looks at what is still in flight while shutting down.
const DRAIN_STEP: Duration = Duration::from_millis(5);

/// Turns new commands away, waits for those in flight, then closes.
pub(crate) async fn shut_down(shared: &Shared, deadline: Duration) {
    // The state first: an epoch that is being made now is then put away by whoever made it.
    shared.state.send_replace(LinkState::Closed);
    shared.subscriptions.close();
    let Some(epoch) = shared.current.swap(None) else { return };
    let drained = async {
        while epoch.in_flight() > 0 && !epoch.is_over() {
            shared.clock.sleep(DRAIN_STEP).await;
        }
    };
    // Out of time or not, the connections are closed: who still waits gets `NoAnswer`.
    let _ = shared.clock.timeout(deadline, drained).await;
    shared.retire(&epoch, EndReason::Shutdown);
}

/// The same at once: the last handle is gone, or the runtime, so nothing is waited for. Needs no runtime.
pub(crate) fn close(shared: &Shared, reason: EndReason) {
    shared.subscriptions.close();
    shared.state.send_replace(LinkState::Closed);
    if let Some(epoch) = shared.current.swap(None) {
        shared.retire(&epoch, reason);
    }
}

/// Held by the task of the supervisor. A task ends without having run to its end only when its runtime does.
pub(crate) struct OnRuntime(pub(crate) Arc<Shared>);

impl Drop for OnRuntime {
    fn drop(&mut self) {
        let is_open = *self.0.state.borrow() != LinkState::Closed;
        if is_open && guard("link_runtime_ended") {
            self.0.runtime_ended();
        }
    }
}
