//! Streams: logs whose entries each group of consumers handles at least once, in order where it matters. docs/spec/stream.md is the
//! specification.

mod backend;
pub mod check;
pub mod entry;
pub mod error;
pub mod id;
pub mod name;
mod partition;
mod parts;
pub mod register;
pub mod scripts;
pub mod steps;
pub mod tries;
mod wire;

pub use backend::StreamBackend;
pub use error::StreamError;
