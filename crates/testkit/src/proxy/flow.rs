//! What can happen to bytes on their way.

use std::time::Duration;

/// One of the two ways through the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server: commands.
    ToServer,
    /// From the server to the client: answers.
    ToClient,
}

/// What happens to bytes in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flow {
    /// They pass at once.
    #[default]
    Pass,
    /// They arrive in order, each piece later by a random time between these two.
    Delay {
        /// At least this much later.
        min: Duration,
        /// At most this much later.
        max: Duration,
    },
    /// They wait, and arrive when the flow is another again: a partition that heals.
    Stall,
    /// They are lost. A connection that lost bytes stays dead in this direction for ever: a stream with a hole means nothing.
    Swallow,
}
