//! Process reports: what each program says about itself, for operators. docs/spec/process.md has their states and bounds.

pub mod backend;
pub mod fit;
pub mod report;
pub mod steps;

pub use backend::{Namespace, ProcessBackend};
