//! The public names of this tree that the older version spells differently.

pub use evenkeel::queue::topic::JobState;
