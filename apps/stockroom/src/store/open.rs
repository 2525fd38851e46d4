//! What opening a database has in common.

use super::StoreError;
use evenkeel::sql::{Database, SqlError, run_migrations};
use sqlx::Pool;
use sqlx::migrate::Migrator;
use std::time::Duration;

/// Connections of one instance to a database server.
pub(super) const CONNECTIONS_MAX: u32 = 16;

/// How long a change waits for a connection. A crowd before one row waits here, too.
pub(super) const ACQUIRE_MAX: Duration = Duration::from_secs(30);

/// How long the start waits for a server.
pub(super) const CONNECT_MAX: Duration = Duration::from_secs(5);

/// Where a database notes which migrations it has. Not sqlx's default name, which another program in the same database may use.
const TABLE: &str = "stock_migrations";

/// Brings this program's tables up to date. Any number of instances may do so at once, and be killed while they do.
pub(super) async fn upgrade<DB: Database>(pool: &Pool<DB>, migrator: Migrator) -> Result<(), StoreError> {
    run_migrations(pool, &migrator, TABLE).await.map_err(|error| match error {
        SqlError::NewerSchema { found, known } => StoreError::NewerSchema { found, known },
        other => StoreError::Library(other),
    })
}
