//! The schema version of a database, and its upgrade.

use crate::store::StoreError;
use evenkeel::sql::{Database, SqlError, run_migrations};
use sqlx::Pool;
use sqlx::migrate::{Migrate, MigrateError, Migrator};
use std::cmp::Ordering;
use std::sync::Arc;

/// Whether opening a database may upgrade its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum Schema {
    /// Create or upgrade the schema.
    Upgrade,
    /// Require the current schema: a service may be using the database.
    AsIs,
}

/// The table of applied migrations. Not sqlx's default name, which another program in the same database may use.
const TABLE: &str = "link_migrations";

/// Ensures that the schema is the one that this program knows. Any number of instances may run it at once, and be killed during
/// it.
pub(in crate::store) async fn prepare<DB>(pool: &Pool<DB>, migrator: Migrator, schema: Schema) -> Result<(), StoreError>
where
    DB: Database,
    DB::Connection: Migrate,
{
    if schema == Schema::AsIs {
        let known = migrator.iter().map(|migration| migration.version).max().unwrap_or(0);
        return compare(&mut *pool.acquire().await?, known).await;
    }
    run_migrations(pool, &migrator, TABLE).await.map_err(|error| match error {
        SqlError::NewerSchema { found, known } => StoreError::NewerSchema { found, known },
        other => other.into(),
    })
}

async fn compare<C: Migrate>(connection: &mut C, known: i64) -> Result<(), StoreError> {
    let unavailable = |error| StoreError::Unavailable(Arc::new(sqlx::Error::Migrate(Box::new(error))));
    let found = match connection.list_applied_migrations(TABLE).await {
        Ok(applied) => {
            // A begun migration is not complete: another instance is running it or was killed during it.
            let begun = connection.dirty_version(TABLE).await.map_err(unavailable)?;
            let complete = applied.iter().map(|migration| migration.version).filter(|version| Some(*version) != begun);
            complete.max().unwrap_or(0)
        }
        // No such table: the database is empty, or belongs to another program.
        Err(MigrateError::Execute(sqlx::Error::Database(_))) => 0,
        Err(other) => return Err(unavailable(other)),
    };
    match found.cmp(&known) {
        Ordering::Less => Err(StoreError::OlderSchema { found, known }),
        Ordering::Equal => Ok(()),
        Ordering::Greater => Err(StoreError::NewerSchema { found, known }),
    }
}
