//! Counts what is in progress, so that a shutdown can wait for its end.

use tokio::sync::watch;

/// Counts as one in progress until it is dropped, however its task ends.
#[must_use = "it counts until it is dropped"]
pub struct InProgress(watch::Sender<usize>);

impl InProgress {
    /// Adds one to `count`.
    pub fn begin(count: &watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count.clone())
    }

    /// Completes when nothing is in progress.
    pub async fn until_none(count: &watch::Sender<usize>) {
        // The caller has the sender, so waiting cannot fail.
        let _ = count.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}
