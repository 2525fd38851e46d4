//! What senders send.

#[expect(clippy::module_inception, reason = "the file holds the step that the folder is named after")]
mod enqueue;
mod put;
mod tick;
mod when;

pub use enqueue::*;
pub use put::*;
pub use tick::*;
pub use when::*;
