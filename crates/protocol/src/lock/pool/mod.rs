//! Permits that several hold at once under one name: a read/write lock is one with 500, of which a reader takes one and a writer all;
//! a semaphore has as many as its programs say.

pub mod memory;
pub mod redis;
pub mod steps;

pub use memory::MemoryPool;
pub use redis::RedisPool;
pub use steps::PoolSteps;
