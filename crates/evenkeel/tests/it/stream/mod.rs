//! Streams: the steps on Redis.

mod foreign;
mod on_redis;
mod scripts;
mod side_by_side;
