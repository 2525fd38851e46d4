//! MySQL and MariaDB.

use super::PoolLimits;
use super::driver::driver;
use super::failover::is_outdated;
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions};
use sqlx::{Executor, MySql, Pool};

driver!(MySql);

/// A pool whose transactions run at READ COMMITTED: at the default, REPEATABLE READ, a transaction that waited for a row would read the
/// snapshot from before its wait.
#[must_use]
pub fn mysql_pool(options: MySqlConnectOptions, limits: PoolLimits) -> Pool<MySql> {
    MySqlPoolOptions::new()
        .max_connections(limits.connections_max)
        .acquire_timeout(limits.acquire_timeout)
        .before_acquire(|_, connection| Box::pin(async move { Ok(!is_outdated(connection.age)) }))
        .after_connect(|connection, _| {
            Box::pin(async move {
                connection.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").await?;
                Ok(())
            })
        })
        .connect_lazy_with(options)
}
