//! PostgreSQL. After a failed statement its transaction accepts only a rollback, and every other statement fails.

use super::dialect::{Dialect, Kind, SqlErrorClass, Stores};
use super::driver::{Driver, driver, prepared};
use super::{Database, Pool, Row, Statement, Typed, Value};
use crate::sql::Conflict;
use evenkeel_link::support::guard;
use sqlx::postgres::{PgDatabaseError, PgListener, PgPoolOptions};
use sqlx_core::transaction::TransactionManager;

/// The channel of notifications to relays; one per database.
const CHANNEL: &str = "evenkeel/outbox";

impl Database for sqlx::Postgres {}

impl Typed for sqlx::Postgres {
    const DIALECT: &'static Dialect = &Dialect {
        kind: Kind::Postgres,
        now_ms: "(extract(epoch FROM clock_timestamp()) * 1000)::bigint",
        skip_locked: "FOR UPDATE SKIP LOCKED",
        for_share: "FOR SHARE",
        greatest_least: ["GREATEST", "LEAST"],
        insert_ignore: ["INSERT INTO", "ON CONFLICT DO NOTHING"],
        begin: "BEGIN",
        before_begin: "",
        // Not a savepoint: later writes would need a second transaction id.
        mark: "SET LOCAL evenkeel.work = '{work}'",
        unmark: "",
        if_marked: "WHERE current_setting('evenkeel.work', true) = encode($1, 'hex')",
        lock_wait: "SET lock_timeout = '1s'",
        notify: Some("SELECT pg_notify('evenkeel/outbox', '')"),
        caches_statements: false,
    };

    fn erased(pool: &sqlx::Pool<Self>) -> Pool {
        Pool::Postgres(pool.clone())
    }
}

/// Calls `on_notification` once it listens, after each notification, and after each reconnection, because notifications may have been
/// missed. Uses a connection of its own.
pub(super) async fn listen(pool: &sqlx::PgPool, on_notification: &(dyn Fn() + Send + Sync)) -> Result<(), sqlx::Error> {
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

driver!(sqlx::Postgres, sqlx::PgConnection, Row::Postgres, prepared, {
    async fn is_marked(&mut self, work: &[u8]) -> Result<bool, sqlx::Error> {
        static ASK: Statement = Statement::new("SELECT ? {if marked}");
        Ok(!self.rows(ASK.text(self.dialect()), &[Value::Bytes(work)]).await?.is_empty())
    }

    async fn check_settings(&mut self) -> Result<Result<Stores, String>, sqlx::Error> {
        let encoding: String = sqlx::query_scalar("SHOW server_encoding").fetch_one(self).await?;
        // `SQL_ASCII` stores bytes as they are.
        let is_unicode = matches!(encoding.as_str(), "UTF8" | "SQL_ASCII");
        Ok(Ok(if is_unicode { Stores::Unicode } else { Stores::Ascii }))
    }
});

/// What an error means.
pub(super) fn class_of(error: &PgDatabaseError) -> SqlErrorClass {
    match error.code() {
        "40P01" => SqlErrorClass::Contention(Conflict::Deadlock),
        "55P03" => SqlErrorClass::Contention(Conflict::NotGranted),
        "40001" => SqlErrorClass::Contention(Conflict::Serialization),
        "23505" => SqlErrorClass::Duplicate,
        // Only for tables of the library; a missing table of the program is the program's error.
        "42P01" if error.message().contains("evenkeel_") => SqlErrorClass::NoTable,
        // Shutdown, crash, termination by an operator; completion unknown.
        "57P01" | "57P02" | "57P03" | "40003" | "08006" | "08003" | "08007" => SqlErrorClass::Connection,
        // The server closed the connection because it was idle in a transaction, or idle; a transaction that took too long.
        "25P03" | "57P05" | "25P04" => SqlErrorClass::SessionOver,
        "25006" => SqlErrorClass::ReadOnly,
        "53300" => SqlErrorClass::Full,
        // Not `25P02` (a statement after one that failed): whether a repetition helps depends on the error before it.
        _ => SqlErrorClass::Other,
    }
}
