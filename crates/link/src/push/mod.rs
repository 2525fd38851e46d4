//! Push messages from the server: invalidations of tracked keys and messages of channels.

pub(crate) mod message;
pub(crate) mod pulse;
pub(crate) mod subscribe;
pub(crate) mod tracking;

pub use message::{Push, PushListener};
pub use pulse::Pulse;
pub use subscribe::{Notification, Subscription};
pub use tracking::{Tracked, Tracking};
