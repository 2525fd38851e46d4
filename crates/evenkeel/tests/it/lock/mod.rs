//! Locks: the protocol on both backends, their agreement, and the user's side.

mod exclusive;
mod fence;
mod histories;
mod pool_scripts;
mod pools_side_by_side;
pub(crate) mod redlock;
mod rows;
mod scripts;
mod sentences;
pub(crate) mod side;
mod side_by_side;
pub(crate) mod sql_extremes;
