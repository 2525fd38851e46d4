//! What the stores of all applications need: database URLs, connection pools, and statements that run on every database.

mod database_url;
mod driver;
mod failover;
mod migrator;
mod mysql;
mod postgres;
mod refusal;
mod rejection;
mod sqlite;
mod statement;

pub use database_url::{DatabaseUrl, DatabaseUrlError, is_unreachable};
pub use driver::Driver;
pub use failover::note_failover;
pub use migrator::{incomplete_migrations, migrator};
pub use mysql::mysql_pool;
pub use postgres::postgres_pool;
pub use refusal::Refusal;
pub use rejection::rejects_values;
pub use sqlite::sqlite_options;
pub use statement::{Statement, Value};

use sqlx::{ConnectOptions, Connection};
use std::time::Duration;

/// Size and timeout of a pool on a database server.
#[derive(Clone, Copy, Debug)]
pub struct PoolLimits {
    /// Maximum number of connections.
    pub connections_max: u32,
    /// How long a request waits for a connection.
    pub acquire_timeout: Duration,
}

/// The options of `url`, after one connection has succeeded: a pool would only report a timeout.
///
/// # Errors
/// The URL is invalid, or the server is unreachable or refuses the connection.
pub async fn server_options<O>(url: &str, connect_timeout: Duration) -> Result<O, sqlx::Error>
where
    O: ConnectOptions<Connection: Sized>,
{
    let options = O::from_str(url)?;
    let first = tokio::time::timeout(connect_timeout, options.connect()).await;
    first.map_err(|_| sqlx::Error::PoolTimedOut)??.close().await?;
    Ok(options)
}
