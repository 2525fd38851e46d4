//! The state of a link, as `Link::state` publishes it.

use std::sync::Arc;

/// The state of a link. To wait for a change, use the receiver from [`Link::state`](crate::link::Link::state) instead of polling.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkState {
    /// Commands are sent on this epoch.
    Up {
        /// Its number.
        epoch: u64,
    },
    /// Redis is not reachable; calls fail at once and the link reconnects.
    Down {
        /// The reason of the last failure.
        reason: Arc<str>,
    },
    /// The link was shut down, or the tokio runtime on which it was opened has ended.
    Closed,
}

impl LinkState {
    /// Whether commands can be sent.
    #[must_use]
    pub fn is_up(&self) -> bool {
        matches!(self, Self::Up { .. })
    }
}
