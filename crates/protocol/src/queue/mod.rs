//! The delay queue: jobs that run at or after their due time, at least once. docs/spec/queue.md is the specification.

mod backend;
pub(crate) mod check;
pub mod error;
pub mod job;
mod memory;
mod parts;
pub mod record;
pub mod register;
pub mod scripts;
mod senders;
mod shard;
pub mod steps;
pub mod topology;
mod wire;

pub use crate::retry_delay;
pub use backend::QueueBackend;
pub use check::NOTE_BYTES_MAX;
pub use error::QueueError;
pub use steps::grow;
