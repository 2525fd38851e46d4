//! Tests of the test kit, against real servers.
#![expect(clippy::unwrap_used, reason = "a test says what broke by panicking")]

mod browser;
mod client;
mod databases;
mod demo;
mod eventually;
mod linearizability;
mod mutants;
mod park;
mod process;
mod proxy;
mod redis;
mod staleness;
mod trace;
