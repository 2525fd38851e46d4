//! Ids that are never issued twice: layouts of 64-bit ids, and worker ids with reserved time. docs/spec/id.md specifies them.

pub mod backend;
pub mod error;
pub mod layout;
mod scope;
pub mod settings;
pub mod steps;
pub mod witness;

pub use backend::{Scope, ScopeBackend};
pub use witness::{Sequence, WitnessBackend};
