//! Tests of the library as its users see it. Modules are named after the capabilities.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod blocks;
mod cache;
mod hermetic;
mod link;
mod lock;
mod log;
mod permissions;
mod queue;
mod resources;
mod spool;
mod sql;
