//! MySQL and MariaDB. A deadlock takes the whole transaction back, and what the connection is sent after it is committed
//! statement by statement: that is why a unit of work makes sure of its transaction before it writes its effects.

use super::dialect::{Dialect, Kind, Trouble, same_for};
use super::{Database, Value};
use sqlx::error::DatabaseError;
use sqlx::mysql::MySqlDatabaseError;

impl Database for sqlx::MySql {}

impl Dialect for sqlx::MySql {
    const KIND: Kind = Kind::MySql;
    // Not `UNIX_TIMESTAMP(NOW(3))`: that passes through the session's time zone and is ambiguous for an hour each autumn.
    const NOW_MS: &'static str = "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000)";
    const SKIP_LOCKED: &'static str = "FOR UPDATE SKIP LOCKED";
    const BEGIN: &'static str = "BEGIN";
    const LOCK_WAIT: &'static str = "SET innodb_lock_wait_timeout = 1";

    same_for!(sqlx::MySql);

    /// Names and keys are `VARBINARY`, because the binary collations of text still ignore spaces at the end.
    fn text(row: &Self::Row, at: usize) -> Result<Option<String>, sqlx::Error> {
        let bytes = Self::bytes(row, at)?;
        bytes.map(String::from_utf8).transpose().map_err(|error| sqlx::Error::Decode(error.into()))
    }

    fn trouble_of(error: &dyn DatabaseError) -> Trouble {
        match error.try_downcast_ref::<MySqlDatabaseError>().map(MySqlDatabaseError::number) {
            // Lock wait time-out, deadlock, lock given up at once, a transaction that a cluster refused, a snapshot outrun.
            Some(1205 | 1213 | 3572 | 3101 | 1020) => Trouble::Contention,
            Some(1062) => Trouble::Duplicate,
            Some(1146) => Trouble::NoTable,
            // Of whatever is called by name and does not exist: here it is only a savepoint.
            Some(1305) => Trouble::NoSavepoint,
            // Server shutdown, killed connection, killed query, lost connection.
            Some(1053 | 1077 | 1317 | 1927 | 2006 | 2013) => Trouble::Connection,
            _ => Trouble::Other,
        }
    }
}
