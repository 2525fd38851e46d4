//! The delay queue: work that runs later, never earlier, and survives every crash. docs/spec/queue.md is the specification.

pub mod check;
pub mod error;
mod figures;
pub mod grow;
mod head;
pub mod job;
pub mod memory;
pub mod record;
pub mod redis;
pub mod register;
pub mod retry_delay;
mod room;
pub mod steps;
pub mod topology;

pub use error::QueueError;
pub use memory::MemoryQueue;
pub use redis::RedisQueue;
pub use steps::QueueSteps;
