//! Tests that need no server.

mod cache_model;
mod first_hour;
mod job_names;
mod latch_loom;
mod lock_model;
mod lock_protocol;
mod pool_model;
mod process_model;
mod queue_model;
mod redlock_protocol;
mod rw_protocol;
mod stream_model;
mod stream_protocol;
