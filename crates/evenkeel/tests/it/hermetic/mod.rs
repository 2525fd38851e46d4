//! Tests that need no server.

mod cache_model;
