//! The older version's names for what the driver uses.

pub use evenkeel::queue::topic::Place as JobState;
