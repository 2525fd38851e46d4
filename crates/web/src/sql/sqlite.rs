//! SQLite.

use super::driver::driver;
use sqlx::Sqlite;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use std::path::Path;
use std::time::Duration;

driver!(Sqlite);

/// How long a statement waits for another process that has locked the file, such as a backup.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Options for a file, which is created if it does not exist: a write-ahead log of at most `log_bytes` after a checkpoint, and commits
/// that survive a power failure, as on the other databases.
#[must_use]
pub fn sqlite_options(path: &Path, log_bytes: &'static str) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(BUSY_TIMEOUT)
        .pragma("journal_size_limit", log_bytes)
}
