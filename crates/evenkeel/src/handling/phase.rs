//! The two phases of a consumer's shutdown.

use evenkeel_link::clock::Clock;
use evenkeel_link::{Link, LinkError, LinkState};
use std::time::Duration;
use tokio::sync::watch;

/// The deadline of the last settlements after the drain, with a margin over the deadline of each worker.
pub(crate) const FAREWELL: Duration = Duration::from_secs(15);

/// The phase of a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// The consumer takes work.
    Working,
    /// The consumer takes no more work; running handlers may finish.
    Draining,
    /// The consumer releases what still runs.
    Over,
}

/// Waits until the consumer has reached the phase.
pub(crate) async fn reached(phases: &mut watch::Receiver<Phase>, phase: Phase) {
    if phases.wait_for(|now| *now >= phase).await.is_err() {
        // The consumer was dropped; this task is about to be dropped, too.
        std::future::pending::<()>().await;
    }
}

/// Drains a consumer: waits for its workers until the deadline, then lets them release what still runs.
pub(crate) async fn drain(
    phase: &watch::Sender<Phase>,
    clock: &Clock,
    deadline: Duration,
    all_done: impl Future<Output = ()>,
) {
    phase.send_replace(Phase::Draining);
    tokio::pin!(all_done);
    if clock.timeout(deadline, &mut all_done).await.is_err() {
        phase.send_replace(Phase::Over);
        let _ = clock.timeout(FAREWELL, &mut all_done).await;
    }
}

/// Waits until the link is shut down. The embedded store has none.
pub(crate) async fn closed(link: Option<&Link>) -> LinkError {
    let Some(link) = link else { return std::future::pending().await };
    let mut state = link.state();
    let _ = state.wait_for(|state| *state == LinkState::Closed).await;
    link.why_down()
}
