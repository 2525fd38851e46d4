//! Databases that reject a statement because of its values.

use sqlx::mysql::MySqlDatabaseError;
use sqlx::sqlite::SqliteError;

/// Classes of PostgreSQL's SQLSTATEs whose errors another statement would meet as well, or that a repeat may not meet: the connection, the
/// state of the transaction or of the session, rights and schema, conflicts, resources, shutdowns, the server itself.
const POSTGRES_COMMON: [&str; 15] =
    ["08", "0A", "25", "26", "28", "3D", "3F", "40", "42", "53", "55", "57", "58", "F0", "XX"];

/// Classes of SQLSTATEs of MySQL and MariaDB: cardinality, data, constraints, `CHECK OPTION`, `SIGNAL`.
const MYSQL_CLASSES: [&str; 5] = ["21", "22", "23", "44", "45"];

/// `WARN_DATA_TRUNCATED`, `ER_NO_DEFAULT_FOR_FIELD`, `ER_TRUNCATED_WRONG_VALUE_FOR_FIELD`, `ER_SIGNAL_EXCEPTION`, `ER_CHECK_CONSTRAINT_VIOLATED`,
/// `ER_CONSTRAINT_FAILED`. Most of them have the SQLSTATE of a general error.
const MYSQL_NUMBERS: [u16; 6] = [1265, 1364, 1366, 1644, 3819, 4025];

/// Primary result codes of SQLite: `SQLITE_TOOBIG`, `SQLITE_CONSTRAINT` (also `RAISE` in a trigger), `SQLITE_MISMATCH`.
const SQLITE_CODES: [i64; 3] = [18, 19, 20];

/// Whether the database rejects the values of this statement: they have no representation in its encoding, violate a constraint, or a trigger
/// raised an error. A repeat fails for the same reason, and a statement with other values may succeed.
///
/// Not: a lost connection, a conflict with another transaction, a timeout, a full disk, a missing right or table.
#[must_use]
pub fn rejects_values(error: &sqlx::Error) -> bool {
    let Some(error) = error.as_database_error() else { return false };
    let Some(code) = error.code() else { return false };
    if let Some(error) = error.try_downcast_ref::<MySqlDatabaseError>() {
        let is_of_class = MYSQL_CLASSES.iter().any(|class| code.starts_with(class));
        return is_of_class || MYSQL_NUMBERS.contains(&error.number());
    }
    if error.try_downcast_ref::<SqliteError>().is_some() {
        return code.parse::<i64>().is_ok_and(|code| SQLITE_CODES.contains(&(code & 0xff)));
    }
    !POSTGRES_COMMON.iter().any(|class| code.starts_with(class))
}
