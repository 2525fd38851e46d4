//! PostgreSQL. After a failed statement its transaction accepts only a rollback, and every other statement fails.

use super::dialect::{Dialect, Kind, SqlErrorClass, Stores, same_for};
use super::{Database, Statement, Value};
use crate::sql::Conflict;
use evenkeel_link::support::guard;
use sqlx::error::DatabaseError;
use sqlx::postgres::{PgListener, PgPoolOptions};

/// The channel of notifications to relays; one per database.
const CHANNEL: &str = "evenkeel/outbox";

impl Database for sqlx::Postgres {}

impl Dialect for sqlx::Postgres {
    const KIND: Kind = Kind::Postgres;
    const NOW_MS: &'static str = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    const SKIP_LOCKED: &'static str = "FOR UPDATE SKIP LOCKED";
    const BEGIN: &'static str = "BEGIN";
    const LOCK_WAIT: &'static str = "SET lock_timeout = '1s'";

    // Not a savepoint: later writes would need a second transaction id.
    const MARK: &'static str = "SET LOCAL evenkeel.work = '{work}'";
    const UNMARK: &'static str = "";
    const IF_MARKED: &'static str = "WHERE current_setting('evenkeel.work', true) = encode($1, 'hex')";

    const NOTIFY: Option<&'static str> = Some("SELECT pg_notify('evenkeel/outbox', '')");

    async fn listen(pool: &sqlx::PgPool, on_notification: &(dyn Fn() + Send + Sync)) -> Result<(), sqlx::Error> {
        // A connection outside the program's pool, because it is kept as long as the relay listens.
        let own = PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None);
        let own = own.connect_lazy_with((*pool.connect_options()).clone());
        let mut listener = PgListener::connect_with(&own).await?;
        listener.listen(CHANNEL).await?;
        let mut is_notified = false;
        loop {
            // Also after the first connection and each reconnection, because earlier notifications were missed.
            if is_notified || guard("reconnect_is_a_wake_up") {
                on_notification();
            }
            is_notified = listener.try_recv().await?.is_some();
        }
    }

    same_for!(sqlx::Postgres);

    async fn is_marked(connection: &mut Self::Connection, work: &[u8]) -> Result<bool, sqlx::Error> {
        static ASK: Statement = Statement::new("SELECT ? {if marked}");
        Ok(!Self::rows(connection, ASK.text::<Self>(), &[Value::Bytes(work)]).await?.is_empty())
    }

    async fn check_settings(connection: &mut Self::Connection) -> Result<Result<Stores, String>, sqlx::Error> {
        let encoding: String = sqlx::query_scalar("SHOW server_encoding").fetch_one(connection).await?;
        // `SQL_ASCII` stores bytes as they are.
        let is_unicode = matches!(encoding.as_str(), "UTF8" | "SQL_ASCII");
        Ok(Ok(if is_unicode { Stores::Unicode } else { Stores::Ascii }))
    }

    fn text(row: &Self::Row, at: usize) -> Result<Option<String>, sqlx::Error> {
        sqlx::Row::try_get(row, at)
    }

    fn class_of_server_error(error: &dyn DatabaseError) -> SqlErrorClass {
        match error.code().as_deref() {
            Some("40P01") => SqlErrorClass::Contention(Conflict::Deadlock),
            Some("55P03") => SqlErrorClass::Contention(Conflict::NotGranted),
            Some("40001") => SqlErrorClass::Contention(Conflict::Serialization),
            Some("23505") => SqlErrorClass::Duplicate,
            // Only for tables of the library; a missing table of the program is the program's error.
            Some("42P01") if error.message().contains("evenkeel_") => SqlErrorClass::NoTable,
            // Shutdown, crash, termination by an operator; completion unknown.
            Some("57P01" | "57P02" | "57P03" | "40003" | "08006" | "08003" | "08007") => SqlErrorClass::Connection,
            // The server closed the connection because it was idle in a transaction, or idle; a transaction that took too long.
            Some("25P03" | "57P05" | "25P04") => SqlErrorClass::SessionOver,
            Some("25006") => SqlErrorClass::ReadOnly,
            Some("53300") => SqlErrorClass::Full,
            // Not `25P02` (a statement after one that failed): whether a repetition helps depends on the error before it.
            _ => SqlErrorClass::Other,
        }
    }
}
