//! [`Cancellation`]: signals a handler to end.

use std::sync::Arc;
use tokio::sync::SetOnce;

/// Signals that a delivery is no longer current, or that the consumer releases it because it shuts down.
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Arc<SetOnce<()>>);

impl Cancellation {
    /// Waits until the signal fires.
    pub async fn cancelled(&self) {
        self.0.wait().await;
    }

    /// Whether the signal has fired.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.initialized()
    }

    pub(crate) fn fire(&self) {
        let _ = self.0.set(());
    }
}
