//! The one supervised way to reach Redis.
//!
//! A [`Link`] is either up or down. Up, it has one [`Epoch`]: a few multiplexed connections made together, over which the commands of
//! all tasks travel without waiting for each other. When Redis closes a connection, goes silent, turns into a replica or is found to be
//! another server, the whole epoch is replaced. While there is none, calls fail at once: nothing is queued.
//!
//! [`Keel::connect`](crate::Keel::connect) opens one, and [`Keel::link`](crate::Keel::link) gives it; docs/spec/link.md has its states
//! and promises.

pub use evenkeel_link::{
    Blocking, EndReason, Epoch, EpochHook, Heard, Link, LinkError, LinkOptions, LinkState, Push, PushListener, Script,
    Subscription, Tracked, Tracking,
};
