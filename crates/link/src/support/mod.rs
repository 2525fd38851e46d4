//! Shared by the crates above: backoff, background tasks, concurrent futures in one task, and the switches of the test kit.

pub(crate) mod background;
mod crash;
pub(crate) mod guard;
mod in_progress;
mod panics;
mod recurring;
pub(crate) mod retry;
mod span;
mod sweep;
mod task;
pub(crate) mod together;
mod tried;

pub use background::Background;
pub use crash::crash_point;
#[cfg(feature = "testing")]
pub use crash::is_requested_at;
pub use guard::guard;
pub use in_progress::InProgress;
pub use panics::panic_message;
pub use recurring::Recurring;
pub use retry::Backoff;
pub use span::ms;
pub use sweep::SweepAt;
pub use task::{spawn, spawn_on};
pub use together::{TOGETHER_MAX, in_groups};
pub use tried::Tried;
