//! The supervised connection to Redis or Valkey on which Evenkeel stands.
//!
//! **This crate is an implementation detail of `evenkeel`**: its interface changes whenever `evenkeel` needs it to. Programs use
//! what `evenkeel::link` and `evenkeel::clock` re-export.
//!
//! Nothing outside this crate opens a connection to Redis, names a topology or knows what a cluster is; nothing outside [`clock`]
//! reads a clock.
//!
//! * [`Link`] is the handle; `link.rs` shows what it can do.
//! * `epoch/` is one life of the connections: opened together, watched, replaced together.
//! * `connection/` is one connection: its stream, its commands in flight, its time-outs.
//! * `server/` says where the server is, who it is, and why it refuses.
//! * `push/` delivers what the server sends unasked: invalidations and messages of channels.
//! * [`support`] holds what every crate above shares: backoff, background loops, and the switches of the mutant table.

#![cfg_attr(clippy, allow(clippy::disallowed_types, reason = "the only crate that opens connections to Redis"))]

pub mod clock;
mod connection;
mod epoch;
mod error;
mod link;
mod metrics;
mod options;
mod push;
mod script;
mod server;
pub mod support;
mod token;

pub use connection::{Blocking, Patience};
pub use epoch::{EndReason, Epoch, LinkState};
pub use error::LinkError;
pub use link::{EpochHook, Link};
pub use options::LinkOptions;
pub use push::{Heard, Pulse, Push, PushListener, Subscription, Tracked, Tracking};
pub use script::Script;
pub use token::Token;
