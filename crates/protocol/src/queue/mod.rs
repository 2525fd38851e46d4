//! The delay queue: jobs that run at or after their due time, at least once. docs/spec/queue.md is the specification.

pub mod check;
pub mod error;
pub mod grow;
pub mod job;
pub mod memory;
pub mod record;
pub mod redis;
pub mod register;
pub mod steps;
pub mod topology;

pub use crate::retry_delay;
pub use error::QueueError;
pub use memory::MemoryQueue;
pub use redis::RedisQueue;
pub use steps::QueueSteps;
