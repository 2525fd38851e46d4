//! Tests of the stockroom: over HTTP, in a browser, and from within where faults are to hit at one place.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may fail by panicking")]

mod api;
mod browser;
mod client;
mod documents;
mod fleet;
mod load;
mod outage;
mod paused;
mod room;
mod server;
mod start;
mod strategies;
