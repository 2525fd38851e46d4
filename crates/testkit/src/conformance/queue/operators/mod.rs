//! What operators do: statistics, dead letters, revoked jobs.

mod amend;
mod look;
mod operate;
mod redrive;
mod revoke;

pub use amend::*;
pub use look::*;
pub use operate::*;
pub use redrive::*;
pub use revoke::*;
