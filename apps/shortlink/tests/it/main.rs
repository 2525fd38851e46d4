//! Tests of the short-link service from outside: `core` needs no HTTP, `web` does.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may fail by panicking")]

mod core;
mod web;
