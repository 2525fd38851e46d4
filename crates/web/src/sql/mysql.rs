//! MySQL and MariaDB.

use super::PoolLimits;
use super::driver::driver;
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions};
use sqlx::{Connection, Executor, MySql, MySqlConnection, Pool};
use std::str::FromStr;
use std::time::Duration;

driver!(MySql);

/// The options of `url`, after one connection has succeeded: a pool would only report a timeout.
///
/// # Errors
/// The URL is invalid, or the server is unreachable or refuses the connection.
pub async fn mysql_options(url: &str, connect_timeout: Duration) -> Result<MySqlConnectOptions, sqlx::Error> {
    let options = MySqlConnectOptions::from_str(url)?;
    let first = tokio::time::timeout(connect_timeout, MySqlConnection::connect_with(&options)).await;
    first.map_err(|_| sqlx::Error::PoolTimedOut)??.close().await?;
    Ok(options)
}

/// A pool whose transactions run at READ COMMITTED: at the default, REPEATABLE READ, a transaction that waited for a row would read the
/// snapshot from before its wait.
#[must_use]
pub fn mysql_pool(options: MySqlConnectOptions, limits: PoolLimits) -> Pool<MySql> {
    MySqlPoolOptions::new()
        .max_connections(limits.connections_max)
        .acquire_timeout(limits.acquire_timeout)
        .after_connect(|connection, _| {
            Box::pin(async move {
                connection.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").await?;
                Ok(())
            })
        })
        .connect_lazy_with(options)
}
