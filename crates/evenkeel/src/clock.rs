//! The time source of a program. Safety never depends on a clock; only liveness and documented bounds do.

pub use evenkeel_link::clock::{Clock, Elapsed, Moment, UnixMs};
