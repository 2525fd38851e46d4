//! One connection: its stream, its commands in flight and their time-outs.

pub(crate) mod blocking;
pub(crate) mod connect;
pub(crate) mod lane;
pub(crate) mod response_timeout;
pub(crate) mod stream;
#[cfg(feature = "tls")]
pub(crate) mod tls;
pub(crate) mod wheel;

pub use blocking::Blocking;
pub use response_timeout::ResponseTimeout;
