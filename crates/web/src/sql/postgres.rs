//! PostgreSQL.

use super::PoolLimits;
use super::driver::driver;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, Executor, PgConnection, Pool, Postgres};
use std::str::FromStr;
use std::time::Duration;

driver!(Postgres);

/// The options of `url`, after one connection has succeeded: a pool would only report a timeout.
///
/// # Errors
/// The URL is invalid, or the server is unreachable or refuses the connection.
pub async fn postgres_options(url: &str, connect_timeout: Duration) -> Result<PgConnectOptions, sqlx::Error> {
    let options = PgConnectOptions::from_str(url)?;
    let first = tokio::time::timeout(connect_timeout, PgConnection::connect_with(&options)).await;
    first.map_err(|_| sqlx::Error::PoolTimedOut)??.close().await?;
    Ok(options)
}

/// A pool whose transactions run at READ COMMITTED, whatever the server's default: at a stricter level, a transaction that waited for a row
/// would read the snapshot from before its wait.
#[must_use]
pub fn postgres_pool(options: PgConnectOptions, limits: PoolLimits) -> Pool<Postgres> {
    PgPoolOptions::new()
        .max_connections(limits.connections_max)
        .acquire_timeout(limits.acquire_timeout)
        .after_connect(|connection, _| {
            Box::pin(async move {
                connection.execute("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED").await?;
                Ok(())
            })
        })
        .connect_lazy_with(options)
}
