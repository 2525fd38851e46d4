//! Limits.

mod extremes;
mod foreign;
mod on_redis;
mod outage;
mod side_by_side;
mod stories;
