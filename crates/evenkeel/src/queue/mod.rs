//! A delay queue: work that runs later, never earlier, and survives every crash.
//!
//! * [`steps`] — the atomic steps, as a trait; docs/spec/queue.md is their specification.
//! * [`job`] — what a job is; [`record`] — how one is written down.
//! * [`MemoryQueue`] — the steps as a model in this process; [`RedisQueue`] — as scripts on Redis.

mod check;
mod error;
pub mod job;
mod memory;
pub mod record;
mod redis;
pub mod steps;

pub use error::QueueError;
pub use job::JobId;
pub use memory::MemoryQueue;
pub use redis::RedisQueue;
pub(crate) use redis::SCRIPTS;
