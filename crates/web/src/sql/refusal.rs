//! [`Refusal`]: why a database that answers refuses writes.

use sqlx::mysql::MySqlDatabaseError;
use sqlx::sqlite::SqliteError;
use std::fmt;

/// Why a database that answers refuses writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its disk is full.
    DiskFull,
    /// It is a replica, or was made one by a failover.
    ReadOnly,
}

/// Result codes of SQLite, without their extensions.
const SQLITE_READONLY: i64 = 8;
const SQLITE_FULL: i64 = 13;

/// SQLite's extended codes of an I/O error that a full disk causes: a write, an fsync, the size of the shared memory file.
const SQLITE_IOERR: [i64; 3] = [778, 1034, 4874];

/// SQLSTATEs of PostgreSQL.
const POSTGRES_FULL: &str = "53100";
const POSTGRES_READ_ONLY: &str = "25006";

/// Numbers of MySQL and MariaDB: `ER_DISK_FULL`, `ER_RECORD_FILE_FULL`.
const MYSQL_FULL: [u16; 2] = [1021, 1114];

/// `ER_OPTION_PREVENTS_STATEMENT` (`--read-only`), `ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION`, `ER_READ_ONLY_MODE`.
const MYSQL_READ_ONLY: [u16; 3] = [1290, 1792, 1836];

impl Refusal {
    /// The reason for an error; `None` if it has another one.
    #[must_use]
    pub fn of(error: &sqlx::Error) -> Option<Self> {
        let error = error.as_database_error()?;
        if let Some(error) = error.try_downcast_ref::<MySqlDatabaseError>() {
            let number = error.number();
            let read_only = MYSQL_READ_ONLY.contains(&number).then_some(Self::ReadOnly);
            return read_only.or(MYSQL_FULL.contains(&number).then_some(Self::DiskFull));
        }
        let code = error.code()?;
        if error.try_downcast_ref::<SqliteError>().is_some() {
            return Self::of_sqlite(code.parse().ok()?);
        }
        match &*code {
            POSTGRES_FULL => Some(Self::DiskFull),
            POSTGRES_READ_ONLY => Some(Self::ReadOnly),
            _ => None,
        }
    }

    fn of_sqlite(extended: i64) -> Option<Self> {
        match extended & 0xff {
            SQLITE_READONLY => Some(Self::ReadOnly),
            SQLITE_FULL => Some(Self::DiskFull),
            _ => SQLITE_IOERR.contains(&extended).then_some(Self::DiskFull),
        }
    }
}

/// A clause of a sentence.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DiskFull => "its disk is full, or cannot be written; free space on it",
            Self::ReadOnly => "it is read-only, as after a failover",
        })
    }
}
