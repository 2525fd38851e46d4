//! SQLite's words. One connection writes, several read.

use super::StoreError;
use super::open::upgrade;
use super::words::{Pools, Words, sends};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use std::path::Path;
use std::time::Duration;

/// Readers at once; more would only share two cores' worth of disk cache among more threads.
const READERS_MAX: u32 = 4;

/// How long another process may keep the file locked (a backup, a command line).
const BUSY_MAX: Duration = Duration::from_secs(10);

/// What stays of the write-ahead log once it is folded into the file, in bytes.
const LOG_BYTES: &str = "4194304";

/// Hundreds of changes may stand in line before the one writer.
const LINE_MAX: Duration = Duration::from_secs(60);

pub(super) async fn open(path: &Path) -> Result<Pools<sqlx::Sqlite>, StoreError> {
    // FULL: what was answered survives a power cut, as on the other databases.
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(BUSY_MAX)
        .pragma("journal_size_limit", LOG_BYTES);
    let one = SqlitePoolOptions::new().max_connections(1).acquire_timeout(LINE_MAX);
    let writer = one.connect_with(options.clone()).await?;
    upgrade(&writer, sqlx::migrate!("migrations/sqlite")).await?;
    let several = SqlitePoolOptions::new().max_connections(READERS_MAX).acquire_timeout(LINE_MAX);
    let reader = several.connect_lazy_with(options.read_only(true));
    Ok(Pools { writer, reader })
}

impl Words for sqlx::Sqlite {
    // IMMEDIATE: a transaction that starts as a reader and then wants to write could not wait for another process's lock.
    const BEGIN_WRITING: &'static str = "BEGIN IMMEDIATE";
    const SNAPSHOT: &'static str = "BEGIN";
    // The whole file is ours until the end of the transaction.
    const LOCK: &'static str = "";
    const INT: &'static str = "INTEGER";

    sends!(sqlx::Sqlite, false);
}
