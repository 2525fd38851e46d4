//! What operators read and change.

mod dead;
mod discard;
mod pause;
mod redrive;
mod seek;
mod stats;
mod sweep;

pub use dead::*;
pub use discard::*;
pub use pause::*;
pub use redrive::*;
pub use seek::*;
pub use stats::*;
pub use sweep::*;
