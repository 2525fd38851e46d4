//! Permits that several hold at once under one name: a read/write lock is one with 500, of which a reader takes one and a writer all;
//! a semaphore has as many as its programs say.
//!
//! * [`steps`] — the atomic steps, as a trait; docs/spec/lock.md is their specification.
//! * [`MemoryPool`] — the steps as a model in this process; [`RedisPool`] — as scripts on one Redis.

mod memory;
mod redis;
pub mod steps;
mod store;

pub use memory::MemoryPool;
pub use redis::RedisPool;
pub(super) use redis::SCRIPTS;
