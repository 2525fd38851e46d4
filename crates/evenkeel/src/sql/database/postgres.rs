//! PostgreSQL. After any failed statement its transaction only knows the way back, and says so to the next one.

use super::dialect::{Dialect, Kind, Trouble, same_for};
use super::{Database, Value};
use sqlx::error::DatabaseError;

impl Database for sqlx::Postgres {}

impl Dialect for sqlx::Postgres {
    const KIND: Kind = Kind::Postgres;
    const NOW_MS: &'static str = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    const SKIP_LOCKED: &'static str = "FOR UPDATE SKIP LOCKED";
    const BEGIN: &'static str = "BEGIN";
    const LOCK_WAIT: &'static str = "SET lock_timeout = '1s'";

    same_for!(sqlx::Postgres);

    fn text(row: &Self::Row, at: usize) -> Result<Option<String>, sqlx::Error> {
        sqlx::Row::try_get(row, at)
    }

    fn trouble_of(error: &dyn DatabaseError) -> Trouble {
        match error.code().as_deref() {
            // Serialization failure, deadlock, lock not available; and what is said in a transaction that has failed already.
            Some("40001" | "40P01" | "55P03" | "25P02") => Trouble::Contention,
            Some("23505") => Trouble::Duplicate,
            Some("42P01") => Trouble::NoTable,
            // Shutdown, crash, termination by an operator; completion unknown.
            Some("57P01" | "57P02" | "57P03" | "40003" | "08006" | "08003" | "08007") => Trouble::Connection,
            _ => Trouble::Other,
        }
    }
}
