//! Tests that need no server.

mod first_hour;
mod job_names;
mod latch_loom;
mod models;
mod protocols;
mod wheel_loom;
