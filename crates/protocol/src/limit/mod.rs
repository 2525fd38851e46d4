//! Rate limits that all instances of a program share. docs/spec/limit.md is the specification.

mod backend;
mod bucket;
pub mod error;
pub mod name;
pub mod quota;
pub mod steps;

pub use backend::{LimitBackend, Subject, scripts};
pub use error::LimitError;
