//! Tests of the test kit, against real servers.
#![expect(clippy::unwrap_used, reason = "a test says what broke by panicking")]

mod browser;
mod demo;
mod eventually;
mod linearizability;
mod mutants;
mod servers;
mod staleness;
