//! A fenced cache: an invalidation beats every load that began before it.

mod error;
pub mod header;
pub mod keys;
pub mod memory;
pub mod redis;
pub mod steps;

pub use error::CacheError;
