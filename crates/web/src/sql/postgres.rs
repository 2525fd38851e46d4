//! PostgreSQL.

use super::PoolLimits;
use super::driver::driver;
use super::failover::is_outdated;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Executor, Pool, Postgres};

driver!(Postgres);

/// A pool whose transactions run at READ COMMITTED, whatever the server's default: at a stricter level, a transaction that waited for a row
/// would read the snapshot from before its wait.
#[must_use]
pub fn postgres_pool(options: PgConnectOptions, limits: PoolLimits) -> Pool<Postgres> {
    PgPoolOptions::new()
        .max_connections(limits.connections_max)
        .acquire_timeout(limits.acquire_timeout)
        .before_acquire(|_, connection| Box::pin(async move { Ok(!is_outdated(connection.age)) }))
        .after_connect(|connection, _| {
            Box::pin(async move {
                connection.execute("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED").await?;
                Ok(())
            })
        })
        .connect_lazy_with(options)
}
