//! Locks whose fencing tokens SQL can check. docs/spec/lock.md is the specification.

pub mod error;
pub mod memory;
pub mod name;
#[cfg(feature = "redlock")]
pub mod node;
pub mod pool;
pub mod redis;
pub mod steps;
pub(crate) mod wake;

pub use error::LockError;
pub use memory::MemoryLock;
pub use redis::RedisLock;
pub use steps::LockSteps;
