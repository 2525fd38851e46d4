//! Tests that need no server.

mod cache_model;
mod lock_model;
mod queue_model;
