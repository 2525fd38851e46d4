//! The supervised connections to Redis.
//!
//! A [`Link`] is either up or down. While it is up, it has one [`Epoch`]: a few multiplexed connections that were opened
//! together; the commands of all tasks share them without waiting for each other. If Redis closes a connection, stops
//! answering, becomes a replica or is replaced by another server, the link replaces the whole epoch. While there is no epoch,
//! calls fail at once; the link queues no commands.
//!
//! [`Keel::connect`](crate::Keel::connect) opens a link, and [`Keel::link`](crate::Keel::link) returns it. docs/spec/link.md
//! specifies its states and guarantees.

pub use evenkeel_link::{
    Blocking, EndReason, Epoch, Library, Link, LinkError, LinkOptions, LinkState, Notification, Script, Subscription,
    Tracking,
};
