//! Tests of the stockroom: over HTTP, in a browser, and in this process where a fault must occur at one point.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may fail by panicking")]

mod api;
mod browser;
mod documents;
mod fleet;
mod load;
mod outage;
mod paused;
mod payments;
mod refusing;
mod search;
mod start;
mod strategies;
mod support;
mod texts;
