//! Bringing a database's schema up to date.

use super::StoreError;
use sqlx::migrate::{Migrate, MigrateError, Migrator};
use std::cmp::Ordering;
use std::sync::Arc;

/// What may happen to the schema when a database is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Schema {
    /// It is brought up to date.
    Upgrade,
    /// It stays as it is: others use the database.
    AsIs,
}

/// Where a database notes which migrations it has. Not sqlx's default name, which another program in the same database may use.
const TABLE: &str = "link_migrations";

/// Sees to it that the schema is the one this program knows. Instances that upgrade at once take turns (SQLite: its file has one
/// holder).
pub(super) async fn prepare<C: Migrate>(
    connection: &mut C,
    mut migrator: Migrator,
    schema: Schema,
) -> Result<(), StoreError> {
    migrator.dangerous_set_table_name(TABLE);
    let known = migrator.iter().map(|migration| migration.version).max().unwrap_or(0);
    if schema == Schema::AsIs {
        return compare(connection, known).await;
    }
    migrator.run_direct(None, connection, false).await.map_err(|error| match error {
        MigrateError::VersionMissing(found) if found > known => StoreError::NewerSchema { found, known },
        MigrateError::Dirty(version) => StoreError::HalfMigrated(version),
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
            StoreError::Unavailable(Arc::new(error))
        }
        other => StoreError::Unavailable(Arc::new(sqlx::Error::Migrate(Box::new(other)))),
    })
}

async fn compare<C: Migrate>(connection: &mut C, known: i64) -> Result<(), StoreError> {
    let found = match connection.list_applied_migrations(TABLE).await {
        Ok(applied) => applied.iter().map(|migration| migration.version).max().unwrap_or(0),
        // The table is not there: the database is empty, or something else's.
        Err(MigrateError::Execute(sqlx::Error::Database(_))) => 0,
        Err(other) => return Err(StoreError::Unavailable(Arc::new(sqlx::Error::Migrate(Box::new(other))))),
    };
    match found.cmp(&known) {
        Ordering::Less => Err(StoreError::OlderSchema { found, known }),
        Ordering::Equal => Ok(()),
        Ordering::Greater => Err(StoreError::NewerSchema { found, known }),
    }
}
