//! The delay queue: its protocol on both backends, and that they agree; then the user's side.

mod crash_points;
mod foreign;
mod grown;
mod on_redis;
mod record;
mod scripts;
mod senders;
pub(crate) mod side;
mod side_by_side;
mod topic;
