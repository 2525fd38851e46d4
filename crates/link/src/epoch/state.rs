//! Whether the link has an epoch: what `Link::state` lets others wait for.

use std::sync::Arc;

/// The link as it is now. Waiting for a change is better than asking again and again: see [`Link::state`](crate::link::Link::state).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkState {
    /// Commands are answered by this epoch.
    Up {
        /// Its number.
        epoch: u64,
    },
    /// Redis is away; calls fail at once and the link keeps trying.
    Down {
        /// The last failure, in words.
        reason: Arc<str>,
    },
    /// The link was shut down for good, or the tokio runtime it was opened on has ended.
    Closed,
}

impl LinkState {
    /// Whether commands can be sent.
    #[must_use]
    pub fn is_up(&self) -> bool {
        matches!(self, Self::Up { .. })
    }
}
