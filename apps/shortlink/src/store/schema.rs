//! Bringing a database's schema up to date.

use super::StoreError;
use evenkeel::sql::{Database, SqlError, run_migrations};
use sqlx::Pool;
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

/// Sees to it that the schema is the one this program knows. Any number of instances may do so at once, and be killed while they
/// do.
pub(super) async fn prepare<DB>(pool: &Pool<DB>, migrator: Migrator, schema: Schema) -> Result<(), StoreError>
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
            // Another instance may be at this one, or was killed over it.
            let begun = connection.dirty_version(TABLE).await.map_err(unavailable)?;
            let complete = applied.iter().map(|migration| migration.version).filter(|version| Some(*version) != begun);
            complete.max().unwrap_or(0)
        }
        // The table is not there: the database is empty, or something else's.
        Err(MigrateError::Execute(sqlx::Error::Database(_))) => 0,
        Err(other) => return Err(unavailable(other)),
    };
    match found.cmp(&known) {
        Ordering::Less => Err(StoreError::OlderSchema { found, known }),
        Ordering::Equal => Ok(()),
        Ordering::Greater => Err(StoreError::NewerSchema { found, known }),
    }
}
