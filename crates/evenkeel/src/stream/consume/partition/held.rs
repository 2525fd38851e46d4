//! A delivery that a session runs, or whose outcome the store has not confirmed.

use crate::handling::cancellation::Cancellation;
use evenkeel_link::clock::Moment;
use evenkeel_protocol::stream::steps::Delivered;
use tokio::task::JoinHandle;

/// A delivery that runs. Dropping it cancels its handler.
pub(super) struct Held {
    pub(super) delivered: Delivered,
    /// When its lease ends, if entries are leased.
    pub(super) until: Moment,
    pub(super) alone: bool,
    /// Whether the store must be notified that it no longer runs alone.
    pub(super) was_alone: bool,
    pub(super) ended: bool,
    pub(super) cancellation: Cancellation,
    pub(super) task: Option<JoinHandle<()>>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.cancellation.fire();
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl Held {
    /// Cancels the handler and returns its task.
    pub(super) fn cancel(&mut self) -> Option<JoinHandle<()>> {
        self.cancellation.fire();
        self.task.take().inspect(JoinHandle::abort)
    }
}
