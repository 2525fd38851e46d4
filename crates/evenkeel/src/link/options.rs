//! How the link is opened: a URL, and the few numbers behind it.

use std::time::Duration;

/// Where Redis is and how patient the link is with it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LinkOptions {
    /// `redis://[user:password@]host[:port][/db]`, or `rediss://` for TLS (feature `tls`).
    pub url: String,
    /// Every key begins with this and a colon.
    pub prefix: String,
    /// Multiplexed connections; a key always takes the same one.
    pub connections: usize,
    /// How long one connection attempt may take.
    pub connect_timeout: Duration,
    /// How long a command may go without an answer.
    pub response_timeout: Duration,
    /// After this many silent time-outs in a row the link probes, and replaces the epoch if the probe is silent too.
    pub silent_timeouts_max: u32,
    /// Commands in flight per connection before callers are turned away.
    pub in_flight_max: usize,
}
