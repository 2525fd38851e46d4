//! Evenkeel keeps Redis and a SQL database telling the same story.
//!
//! Open one [`Keel`], then ask it for what you need. Every capability is a cargo feature and a folder of the same shape:
//!
//! * `cache` — a fenced cache: an invalidation beats every load that began before it.
//! * `queue` — a delay queue: work that runs later, never earlier, and survives every crash.
//! * `lock` — locks whose fences SQL can check.
//! * `sql` — the unit of work: effects that happen if, and only if, the transaction commits.
//! * `spool` — a bounded file for obligations that Redis could not take yet.
//!
//! [`link`] is the one supervised way to reach Redis; [`clock`] is the only place that reads a clock.

/// The examples of the README, compiled and run.
#[cfg(all(doctest, feature = "cache", feature = "queue", feature = "sqlite"))]
#[doc = include_str!("../../../README.md")]
pub struct Readme;

#[cfg(feature = "cache")]
pub mod cache;
pub mod clock;
pub mod codec;
mod keel;
pub mod link;
#[cfg(feature = "lock")]
pub mod lock;
#[cfg(feature = "queue")]
pub mod queue;
#[cfg(feature = "spool")]
pub mod spool;
#[cfg(feature = "sql")]
pub mod sql;

pub use evenkeel_link::Token;
pub use keel::{Keel, KeelBuilder};
