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
