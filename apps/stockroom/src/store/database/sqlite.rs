//! SQLite: one connection writes, several read.

use super::migrations::migrations;
use super::{Dialect, MIGRATIONS, Pools};
use crate::store::StoreError;
use evenkeel::sql::run_migrations;
use sqlx::sqlite::SqlitePoolOptions;
use std::path::Path;
use std::time::Duration;
use web::sql::sqlite_options;

/// Connections that read. More would share the same disk cache.
const READERS_MAX: u32 = 4;

/// Size of the write-ahead log after a checkpoint, in bytes.
const LOG_BYTES: &str = "4194304";

/// How long a change waits for the one connection that writes; hundreds may queue.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(60);

pub(in crate::store) async fn open(path: &Path) -> Result<Pools<sqlx::Sqlite>, StoreError> {
    let options = sqlite_options(path, LOG_BYTES);
    let one = SqlitePoolOptions::new().max_connections(1).acquire_timeout(ACQUIRE_TIMEOUT);
    let writer = one.connect_with(options.clone()).await?;
    run_migrations(&writer, &migrations!("sqlite"), MIGRATIONS).await?;
    let several = SqlitePoolOptions::new().max_connections(READERS_MAX).acquire_timeout(ACQUIRE_TIMEOUT);
    let reader = several.connect_lazy_with(options.read_only(true));
    Ok(Pools { writer, reader })
}

impl Dialect for sqlx::Sqlite {
    // IMMEDIATE: a transaction that begins as a reader cannot wait for another process's lock when it writes.
    const BEGIN_WRITE: &'static str = "BEGIN IMMEDIATE";
    const BEGIN_SNAPSHOT: &'static str = "BEGIN";
    const INT: &'static str = "INTEGER";
}
