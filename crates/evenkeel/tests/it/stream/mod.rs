//! Streams: the steps on Redis.

mod on_redis;
mod scripts;
mod side_by_side;
