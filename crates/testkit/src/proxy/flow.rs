//! The faults of a direction.

use std::time::Duration;

/// A direction through the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server: commands.
    ToServer,
    /// From the server to the client: replies.
    ToClient,
}

/// The fault of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flow {
    /// Bytes pass at once.
    #[default]
    Pass,
    /// Bytes arrive in order, each piece delayed by a random time between these two.
    Delay {
        /// The minimum delay.
        min: Duration,
        /// The maximum delay.
        max: Duration,
    },
    /// Bytes wait, and arrive after the flow has changed again: a partition that heals.
    Stall,
    /// Bytes are lost. A connection that lost bytes delivers nothing more in this direction, because a TCP stream has no gaps.
    Swallow,
}
