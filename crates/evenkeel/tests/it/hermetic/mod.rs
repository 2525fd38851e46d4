//! Tests that need no server.

mod cache_model;
mod lock_model;
mod lock_protocol;
mod queue_model;
