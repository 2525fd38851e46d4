//! A delay queue: work that runs later, never earlier, and survives every crash.
//!
//! * [`Queue`] — what a program holds: it sends jobs, and [runs](Queue::consume) them.
//! * [`steps`] — the atomic steps, as a trait; docs/spec/queue.md is their specification.
//! * [`job`] — what a job is; [`record`] — how one is written down.
//! * [`MemoryQueue`] — the steps as a model in this process; [`RedisQueue`] — as scripts on Redis.

mod builder;
mod check;
mod consume;
mod cron;
mod durable;
mod error;
pub mod job;
mod memory;
mod metrics;
mod order;
mod periodic;
#[expect(clippy::module_inception, reason = "the file holds the type that the folder is named after")]
mod queue;
mod queues;
pub mod record;
mod redis;
mod register;
mod retry_delay;
mod send;
mod server;
mod settings;
mod shards;
pub mod steps;
mod store;

pub use builder::QueueBuilder;
pub use consume::{Cancellation, Consumer, Delivery, Handled, Reaction};
pub use cron::{Cron, NotCron};
pub use error::QueueError;
pub use job::{JobId, Priority, Retries};
pub use memory::MemoryQueue;
pub use order::{Order, Sent};
pub use periodic::{Missed, Periodic};
pub use queue::Queue;
pub(crate) use queues::Queues;
pub use redis::RedisQueue;
pub(crate) use redis::SCRIPTS;
pub use retry_delay::RetryDelay;
pub use settings::{Durability, WhenFull};
pub(crate) use store::QueueStore;
