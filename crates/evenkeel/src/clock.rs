//! Where a program gets its time from. Safety never depends on a clock; only liveness and stated bounds do.

#[cfg(feature = "testing")]
pub use evenkeel_link::clock::TestClock;
pub use evenkeel_link::clock::{Clock, Elapsed, Moment, UnixMs};
