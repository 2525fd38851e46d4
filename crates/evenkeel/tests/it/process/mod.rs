//! Process reports.

mod foreign;
mod on_redis;
mod outage;
mod stories;
