//! What the stores of all applications need: database URLs, connection pools, and statements that run on every database.

mod database_url;
mod driver;
mod mysql;
mod postgres;
mod sqlite;
mod statement;

pub use database_url::{DatabaseUrl, DatabaseUrlError, is_unreachable};
pub use driver::Driver;
pub use mysql::{mysql_options, mysql_pool};
pub use postgres::{postgres_options, postgres_pool};
pub use sqlite::sqlite_options;
pub use statement::{Statement, Value};

use std::time::Duration;

/// Size and timeout of a pool on a database server.
#[derive(Clone, Copy, Debug)]
pub struct PoolLimits {
    /// Maximum number of connections.
    pub connections_max: u32,
    /// How long a request waits for a connection.
    pub acquire_timeout: Duration,
}
