//! Bringing a database's schema up to date.

use super::StoreError;
use sqlx::migrate::{Migrate, MigrateError, Migrator};

/// Where a database notes which migrations it has. Not sqlx's default name, which another program in the same database may use.
const TABLE: &str = "link_migrations";

/// Runs what is missing. Instances that start at once take turns (SQLite: the data folder has one holder).
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
