//! What senders send.

mod enqueue;
mod put;
mod tick;
mod when;

pub use enqueue::*;
pub use put::*;
pub use tick::*;
pub use when::*;
