//! What operators read and change.

mod dead;
mod discard;
mod redrive;
mod stats;
mod steer;

pub use dead::*;
pub use discard::*;
pub use redrive::*;
pub use stats::*;
pub use steer::*;
