//! The fenced cache: an invalidation rejects the fill of every earlier load. docs/spec/cache.md is the specification.

pub mod error;
pub mod header;
pub mod keys;
pub mod memory;
pub mod on_replicas;
pub mod redis;
pub mod steps;

pub use error::CacheError;
pub use memory::{EntryStore, MemoryCache};
pub use on_replicas::OnReplicas;
pub use redis::RedisCache;
pub use steps::CacheSteps;
