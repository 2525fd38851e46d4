//! Numbers as short texts: digits of an alphabet, and a keyed permutation that hides their order.

mod alphabet;
mod shuffle;

pub use alphabet::Alphabet;
pub use shuffle::{Shuffle, ShuffleKey};
