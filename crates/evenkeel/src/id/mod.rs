//! Ids as texts, and short texts for numbers.
//!
//! * [`Id`] — a number that is a text in JSON.
//! * [`Alphabet`] — numbers in Base62 and Base58; [`Shuffle`] — a keyed permutation, so that codes made from numbers cannot be enumerated.

mod code;
#[expect(clippy::module_inception, reason = "the file of the type of this name")]
mod id;

pub use code::{Alphabet, Shuffle, ShuffleKey};
pub use evenkeel_protocol::id::error::IdError;
pub use evenkeel_protocol::id::layout::{Layout, Parts};
pub use id::Id;
