//! The public names of this tree that the older version spells differently.

use evenkeel::lock::Holder;

pub use evenkeel::queue::topic::JobState;

pub fn metadata(holder: &Holder) -> &[u8] {
    &holder.metadata
}
