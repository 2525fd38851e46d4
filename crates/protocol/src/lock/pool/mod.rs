//! Pools of permits, which several owners hold at once under one name: a read/write lock is a pool of 500, of which a reader takes one and
//! a writer all; the size of a semaphore's pool is the user's choice.

pub mod memory;
pub mod redis;
pub mod steps;

pub use memory::MemoryPool;
pub use redis::RedisPool;
pub use steps::PoolSteps;
