//! Streams: the steps on Redis; then the user's side.

mod foreign;
mod killed;
mod on_redis;
mod scripts;
pub(crate) mod side;
mod side_by_side;
