//! SQLite. It allows one writer at a time, so a transaction that begins with a write excludes all others until it ends.

use super::dialect::{Dialect, Kind, SqlErrorClass, same_for};
use super::{Database, Value};
use crate::sql::Conflict;
use sqlx::error::DatabaseError;

impl Database for sqlx::Sqlite {}

impl Dialect for sqlx::Sqlite {
    const KIND: Kind = Kind::Sqlite;
    const NOW_MS: &'static str = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
    const SKIP_LOCKED: &'static str = "";
    const BEGIN: &'static str = "BEGIN IMMEDIATE";
    // The pool's `busy_timeout` already limits every wait.
    const LOCK_WAIT: &'static str = "SELECT 1";

    same_for!(sqlx::Sqlite);

    fn text(row: &Self::Row, at: usize) -> Result<Option<String>, sqlx::Error> {
        sqlx::Row::try_get(row, at)
    }

    fn class_of_server_error(error: &dyn DatabaseError) -> SqlErrorClass {
        if error.is_unique_violation() {
            return SqlErrorClass::Duplicate;
        }
        let code = error.code().and_then(|code| code.parse::<u32>().ok()).unwrap_or(0);
        // The low byte is the primary code.
        match (code, code & 0xff) {
            // SQLITE_BUSY_SNAPSHOT: another connection has written since this transaction began to read.
            (517, _) => SqlErrorClass::Contention(Conflict::Serialization),
            // SQLITE_BUSY and SQLITE_LOCKED.
            (_, 5 | 6) => SqlErrorClass::Contention(Conflict::NotGranted),
            // SQLite reports both with its general error code.
            (_, 1) if error.message().starts_with("no such savepoint") => SqlErrorClass::NoSavepoint,
            (_, 1) if error.message().contains("no such table: evenkeel_") => SqlErrorClass::NoTable,
            _ => SqlErrorClass::Other,
        }
    }
}
