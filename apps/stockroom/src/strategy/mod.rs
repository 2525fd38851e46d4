//! The locking strategies: one file each.
//!
//! Every strategy writes the stock, the cause and the movements in one transaction. Every safe one also compares the row's version when
//! it writes, so requests may use different strategies for the same product. A version conflict under a lock that should exclude all
//! others is counted as an interference.

mod attempt;
mod conditional;
mod context;
mod fenced;
mod optimistic;
mod pauses;
mod pessimistic;
mod retry;
mod segmented;
mod split;
mod unfenced;

pub use context::StrategyContext;
pub use pauses::{PausePoint, Pauses};
pub use retry::{Applied, ChangeError};

pub(crate) use retry::change;
pub(crate) use split::join_other_caps;
