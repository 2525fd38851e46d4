//! MySQL's and MariaDB's words.

use super::StoreError;
use super::open::{ACQUIRE_MAX, CONNECT_MAX, CONNECTIONS_MAX, upgrade};
use super::words::{Pools, Words, sends};
use evenkeel::clock::Clock;
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions};
use sqlx::{Connection, Executor, MySqlConnection};
use std::str::FromStr;

pub(super) async fn open(url: &str, clock: &Clock) -> Result<Pools<sqlx::MySql>, StoreError> {
    let options = MySqlConnectOptions::from_str(url)?;
    // A connection of its own first: a pool would retry, and then only say that time ran out.
    let first = clock.timeout(CONNECT_MAX, MySqlConnection::connect_with(&options)).await;
    first.map_err(|_| sqlx::Error::PoolTimedOut)??.close().await?;
    let pool = MySqlPoolOptions::new()
        .max_connections(CONNECTIONS_MAX)
        .acquire_timeout(ACQUIRE_MAX)
        // The default, REPEATABLE READ, would show a change the state before it got its turn.
        .after_connect(|connection, _| {
            Box::pin(async move {
                connection.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").await?;
                Ok(())
            })
        })
        .connect_lazy_with(options);
    upgrade(&pool, sqlx::migrate!("migrations/mysql")).await?;
    Ok(Pools { writer: pool.clone(), reader: pool })
}

impl Words for sqlx::MySql {
    const BEGIN_WRITING: &'static str = "BEGIN";
    const SNAPSHOT: &'static str = "START TRANSACTION WITH CONSISTENT SNAPSHOT";
    const LOCK: &'static str = "FOR UPDATE";
    const INT: &'static str = "SIGNED";

    sends!(sqlx::MySql, false);

    async fn before_snapshot(connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
        // For the next transaction alone.
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").await?;
        Ok(())
    }
}
