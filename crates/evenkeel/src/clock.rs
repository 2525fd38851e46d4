//! The time source of a program. Safety never depends on a clock; only liveness and documented bounds do.

#[cfg(feature = "testing")]
pub use evenkeel_link::clock::TestClock;
pub use evenkeel_link::clock::{Clock, Elapsed, Moment, UnixMs};
