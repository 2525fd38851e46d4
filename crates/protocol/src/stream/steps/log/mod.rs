//! The log of a partition.

mod append;
mod entries;
mod open;
mod trim;

pub use append::*;
pub use entries::*;
pub use open::*;
pub use trim::*;
