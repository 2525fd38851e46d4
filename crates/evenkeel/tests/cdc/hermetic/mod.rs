//! Tests that need no server.

mod model;
