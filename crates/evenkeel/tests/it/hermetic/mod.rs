//! Tests that need no server.

mod cache_model;
mod queue_model;
