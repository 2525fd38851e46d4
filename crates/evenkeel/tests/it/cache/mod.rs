//! The cache: its header, its embedded store, and the conformance of both backends.

mod conformance;
mod header;
mod histories;
mod on_redis;
mod published;
pub(crate) mod reads;
mod schedules;
mod side_by_side;
mod store;
