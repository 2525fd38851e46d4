//! What operators do: statistics, dead letters, revoked jobs.

mod operate;
mod redrive;
mod revoke;

pub use operate::*;
pub use redrive::*;
pub use revoke::*;
