//! What opening a database has in common.

use super::StoreError;
use sqlx::migrate::{Migrate, MigrateError, Migrator};
use std::time::Duration;

/// Connections of one instance to a database server.
pub(super) const CONNECTIONS_MAX: u32 = 16;

/// How long a change waits for a connection. A crowd before one row waits here, too.
pub(super) const ACQUIRE_MAX: Duration = Duration::from_secs(30);

/// How long the start waits for a server.
pub(super) const CONNECT_MAX: Duration = Duration::from_secs(5);

/// Where a database notes which migrations it has. Not sqlx's default name, which another program in the same database may use.
const TABLE: &str = "stock_migrations";

/// Brings this program's tables up to date. Instances that do so at once take turns (SQLite: its file has one holder).
pub(super) async fn upgrade<C: Migrate>(connection: &mut C, mut migrator: Migrator) -> Result<(), StoreError> {
    migrator.dangerous_set_table_name(TABLE);
    let known = migrator.iter().map(|migration| migration.version).max().unwrap_or(0);
    migrator.run_direct(None, connection, false).await.map_err(|error| match error {
        MigrateError::VersionMissing(found) if found > known => StoreError::NewerSchema { found, known },
        MigrateError::Dirty(version) => StoreError::HalfMigrated(version),
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => StoreError::Unavailable(error),
        other => StoreError::Unavailable(sqlx::Error::Migrate(Box::new(other))),
    })
}
