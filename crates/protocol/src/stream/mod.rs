//! Streams: logs whose entries each group of consumers handles at least once, in order where it matters. docs/spec/stream.md is the
//! specification.

pub mod check;
pub mod entry;
pub mod error;
pub mod id;
pub mod memory;
pub mod name;
pub mod redis;
pub mod register;
pub mod steps;
pub mod tries;

pub use error::StreamError;
pub use memory::MemoryStream;
pub use redis::RedisStream;
pub use steps::StreamSteps;
