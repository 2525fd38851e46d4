//! Keeps the link open: waits until an epoch ends and opens the next one.

use super::health::EndReason;
use super::open::open;
use super::shared::Shared;
use super::state::LinkState;
use crate::support::guard::guard;
use crate::support::retry::Backoff;
use std::sync::Arc;
use std::time::Duration;

/// Delays between attempts: at most one second, so that the link recovers soon after the server; with jitter, so that the processes
/// of a fleet do not reconnect at the same time.
const BACKOFF: Backoff = Backoff { delay_min: Duration::from_millis(20), delay_max: Duration::from_secs(1) };

/// Runs until the link is closed.
pub(crate) async fn supervise(shared: Arc<Shared>) {
    let mut failures = 0;
    while *shared.state.borrow() != LinkState::Closed {
        failures = run_once(&shared, failures).await;
    }
}

/// Waits until the current epoch ends, or tries to open one. Returns the number of consecutive failures.
async fn run_once(shared: &Shared, failures: u32) -> u32 {
    if let Some(epoch) = shared.current.load_full() {
        let reason = epoch.over().await;
        // A shutdown has already retired the epoch.
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

/// The interval at which a shutdown checks the commands in flight.
const DRAIN_STEP: Duration = Duration::from_millis(5);

/// Rejects new commands, waits for those in flight for up to `deadline`, then closes the connections.
pub(crate) async fn shut_down(shared: &Shared, deadline: Duration) {
    // The state is set first, so that `publish` discards an epoch that is being opened now.
    shared.state.send_replace(LinkState::Closed);
    shared.subscriptions.close();
    let Some(epoch) = shared.current.swap(None) else { return };
    let drained = async {
        while epoch.in_flight() > 0 && !epoch.is_over() {
            shared.clock.sleep(DRAIN_STEP).await;
        }
    };
    // The connections are closed whether or not the deadline passed; callers still waiting get `NoAnswer`.
    let _ = shared.clock.timeout(deadline, drained).await;
    shared.retire(&epoch, EndReason::Shutdown);
}

/// Closes the link without waiting, because the last handle was dropped or the runtime has ended. Does not need a runtime.
pub(crate) fn close(shared: &Shared, reason: EndReason) {
    shared.subscriptions.close();
    shared.state.send_replace(LinkState::Closed);
    if let Some(epoch) = shared.current.swap(None) {
        shared.retire(&epoch, reason);
    }
}

/// Owned by the supervisor's task. That task is dropped before it has finished only if its runtime ends.
pub(crate) struct OnRuntime(pub(crate) Arc<Shared>);

impl Drop for OnRuntime {
    fn drop(&mut self) {
        let is_open = *self.0.state.borrow() != LinkState::Closed;
        if is_open && guard("link_runtime_ended") {
            self.0.runtime_ended();
        }
    }
}
