//! Tests that need no server: SQLite, and the program on it.

mod documents;
mod foreign;
mod kept;
mod memory;
mod rows;
mod schema;
mod server;
mod settings;
mod start;
mod stop;
mod store;
