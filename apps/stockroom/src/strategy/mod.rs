//! The ways to change a stock while others do: one file each.
//!
//! Every strategy writes the stock, its cause and its movement in one transaction, and every safe one looks at the row's version
//! when it writes: so requests may choose different ones for the same product. Where a lock promises that nobody else is there,
//! a version that has moved all the same is counted as interference.

mod attempt;
mod conditional;
mod fenced;
mod optimistic;
mod pessimistic;
mod segmented;
mod split;
mod stalls;
mod tools;
mod unfenced;
mod whole;

pub use attempt::{ChangeError, Changed};
pub use stalls::{Stall, Stalls};
pub use tools::{LockTerms, Tools};

pub(crate) use attempt::change;
pub(crate) use split::join_other_caps;
