//! What consumers do: claims, leases, settlements, and what wakes a consumer.

mod claim;
mod lease;
mod settle;
mod suspects;
mod time;
mod wake;

pub use claim::*;
pub use lease::*;
pub use settle::*;
pub use suspects::*;
pub use time::*;
pub use wake::*;
