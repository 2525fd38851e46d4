//! Process reports: what each program says about itself, for operators. docs/spec/process.md has their states and bounds.

pub mod fit;
pub mod memory;
pub mod redis;
pub mod report;
pub mod steps;
