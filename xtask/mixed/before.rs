//! The older version's names for what the driver uses.

use evenkeel::lock::Holder;

pub use evenkeel::queue::topic::Place as JobState;

pub fn metadata(holder: &Holder) -> &[u8] {
    &holder.words
}
