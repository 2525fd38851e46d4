//! The two phases of a consumer's shutdown.

use tokio::sync::watch;

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
