//! The steps of limits. Each is a value, with its script next to it; docs/spec/limit.md specifies them.

mod attend;
mod debit;

pub use super::bucket::Debited;
pub use attend::*;
pub use debit::*;

/// An instance that has not used a limit for this long is not counted, in ms.
pub const ATTENDS_MS: u64 = 60_000;
