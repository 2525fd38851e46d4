//! Process reports.

mod foreign;
mod libraries;
mod on_redis;
mod outage;
mod stories;
