//! Evenkeel's supervised connection to Redis or Valkey.
//!
//! **This crate is an implementation detail of `evenkeel`**: its interface changes whenever `evenkeel` needs it to. Programs use
//! what `evenkeel::link` and `evenkeel::clock` re-export.
//!
//! No other crate opens a connection to Redis or depends on its topology, and no module but [`clock`] reads a clock.
//!
//! * [`Link`] is the handle; `link.rs` has its interface.
//! * `epoch/` opens, checks and replaces sets of connections.
//! * `connection/` is one connection: its stream, its commands in flight and their time-outs.
//! * `server/` parses addresses, identifies the server and explains its error replies.
//! * `push/` delivers push messages: invalidations and messages of channels.
//! * [`support`] has what the crates above share: backoff, background tasks and the switches of the mutant table.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![allow(clippy::disallowed_types, reason = "the only crate that opens connections to Redis")]

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

pub use connection::{Blocking, ResponseTimeout};
pub use epoch::{EndReason, Epoch, LinkState};
pub use error::LinkError;
pub use link::{EpochHook, Link};
pub use options::LinkOptions;
pub use push::{Notification, Pulse, Push, PushListener, Subscription, Tracked, Tracking};
pub use script::{Library, Script};
pub use token::Token;
