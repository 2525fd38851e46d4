//! The end of a consumer, in two steps.

use tokio::sync::watch;

/// How far a consumer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// It claims.
    Working,
    /// It claims no more; what runs may end.
    Draining,
    /// What still runs is given back.
    Over,
}

/// Waits until the consumer is at least that far.
pub(crate) async fn reached(phases: &mut watch::Receiver<Phase>, phase: Phase) {
    if phases.wait_for(|now| *now >= phase).await.is_err() {
        // The consumer itself is gone, and this task with it.
        std::future::pending::<()>().await;
    }
}
