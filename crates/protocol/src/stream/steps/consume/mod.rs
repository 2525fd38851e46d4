//! What consumers send.

mod attend;
mod delivered;
mod heartbeat;
mod join;
mod read;
mod settle;
mod take_over;

pub use attend::*;
pub use delivered::*;
pub use heartbeat::*;
pub use join::*;
pub use read::*;
pub use settle::*;
pub use take_over::*;
