//! SQLite. It allows one writer at a time, so a transaction that begins with a write excludes all others until it ends.

use super::dialect::{Dialect, Kind, SAVEPOINT, SqlErrorClass};
use super::driver::{Driver, driver, prepared};
use super::{Database, Pool, Row, Typed, Value};
use crate::sql::Conflict;
use sqlx::error::DatabaseError;
use sqlx::sqlite::SqliteError;
use sqlx_core::transaction::TransactionManager;

impl Database for sqlx::Sqlite {}

impl Typed for sqlx::Sqlite {
    const DIALECT: &'static Dialect = &Dialect {
        kind: Kind::Sqlite,
        now_ms: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
        skip_locked: "",
        for_share: "",
        greatest_least: ["MAX", "MIN"],
        insert_ignore: ["INSERT INTO", "ON CONFLICT DO NOTHING"],
        begin: "BEGIN IMMEDIATE",
        before_begin: "",
        mark: SAVEPOINT[0],
        unmark: SAVEPOINT[1],
        if_marked: "",
        // The pool's `busy_timeout` already limits every wait.
        lock_wait: "SELECT 1",
        notify: None,
        caches_statements: false,
    };

    fn erased(pool: &sqlx::Pool<Self>) -> Pool {
        Pool::Sqlite(pool.clone())
    }
}

driver!(sqlx::Sqlite, sqlx::SqliteConnection, Row::Sqlite, prepared, {});

/// What an error means.
pub(super) fn class_of(error: &SqliteError) -> SqlErrorClass {
    let code = error.code().and_then(|code| code.parse::<u32>().ok()).unwrap_or(0);
    match class_of_code(code) {
        // SQLite reports both with its general error code.
        SqlErrorClass::Other if code == 1 && error.message().starts_with("no such savepoint") => {
            SqlErrorClass::NoSavepoint
        }
        SqlErrorClass::Other if code == 1 && error.message().contains("no such table: evenkeel_") => {
            SqlErrorClass::NoTable
        }
        class => class,
    }
}

/// The class of an extended result code, whose low byte is the primary code.
fn class_of_code(code: u32) -> SqlErrorClass {
    match (code, code & 0xff) {
        // SQLITE_BUSY_SNAPSHOT: another connection has written since this transaction began to read.
        (517, _) => SqlErrorClass::Contention(Conflict::Serialization),
        // SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL (the locks of the write-ahead log).
        (_, 5 | 6 | 15) => SqlErrorClass::Contention(Conflict::NotGranted),
        // SQLITE_CONSTRAINT_PRIMARYKEY, _UNIQUE, _ROWID.
        (1555 | 2067 | 2579, _) => SqlErrorClass::Duplicate,
        // SQLITE_IOERR_WRITE: a disk that is full, or a limit of file sizes. What makes a commit valid is written last.
        (778, _) => SqlErrorClass::Other,
        // SQLITE_IOERR: what has reached the file is not known.
        (_, 10) => SqlErrorClass::Connection,
        // SQLITE_READONLY_DBMOVED: the file was replaced, and a new connection opens the other one.
        (1032, _) => SqlErrorClass::ReadOnly,
        // Not the rest of SQLITE_READONLY, SQLITE_FULL, SQLITE_CORRUPT: a repetition meets the same file.
        _ => SqlErrorClass::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::class_of_code;
    use crate::sql::Conflict;
    use crate::sql::database::SqlErrorClass::{Connection, Contention, Duplicate, Other, ReadOnly};

    /// SQLite does not raise a code on request, as the other databases do.
    // shows: hazard B4
    #[test]
    fn each_code_of_sqlite_has_its_meaning() {
        for (codes, class) in [
            (&[517][..], Contention(Conflict::Serialization)),
            (&[5, 261, 773, 6, 262, 518, 15], Contention(Conflict::NotGranted)),
            (&[1555, 2067, 2579], Duplicate),
            (&[10, 266, 522, 1034, 3850], Connection),
            (&[1032], ReadOnly),
            // An error of the statement, a full disk (also 778), a damaged or read-only file, other constraints, a trigger.
            (&[0, 1, 8, 264, 776, 778, 11, 13, 14, 19, 26, 275, 787, 1299, 1811], Other),
        ] {
            for code in codes {
                assert_eq!(class_of_code(*code), class, "{code}");
            }
        }
    }
}
