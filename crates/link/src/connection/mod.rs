//! One connection: its stream, its commands in flight and their time-outs.

pub(crate) mod blocking;
pub(crate) mod connect;
pub(crate) mod lane;
#[cfg(test)]
mod lane_ends;
pub(crate) mod response_timeout;
pub(crate) mod stream;
#[cfg(feature = "tls")]
pub(crate) mod tls;
pub(crate) mod wheel;
#[cfg(test)]
mod wheel_turns;

/// What the wheel is made of; a test replaces it by loom's.
mod parts {
    pub(super) use tokio::sync::Notify;
    pub(super) use tokio::sync::futures::Notified;
}

pub use blocking::Blocking;
pub use response_timeout::ResponseTimeout;
pub(crate) use response_timeout::ResponseTimeouts;
