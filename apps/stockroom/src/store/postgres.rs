//! PostgreSQL's words.

use super::StoreError;
use super::open::{ACQUIRE_MAX, CONNECT_MAX, CONNECTIONS_MAX, upgrade};
use super::words::{Pools, Words, sends};
use evenkeel::clock::Clock;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgConnection};
use std::str::FromStr;

pub(super) async fn open(url: &str, clock: &Clock) -> Result<Pools<sqlx::Postgres>, StoreError> {
    let options = PgConnectOptions::from_str(url)?;
    // A connection of its own first: a pool would retry, and then only say that time ran out.
    let first = clock.timeout(CONNECT_MAX, PgConnection::connect_with(&options)).await;
    first.map_err(|_| sqlx::Error::PoolTimedOut)??.close().await?;
    let pool =
        PgPoolOptions::new().max_connections(CONNECTIONS_MAX).acquire_timeout(ACQUIRE_MAX).connect_lazy_with(options);
    upgrade(&pool, sqlx::migrate!("migrations/postgres")).await?;
    Ok(Pools { writer: pool.clone(), reader: pool })
}

impl Words for sqlx::Postgres {
    // READ COMMITTED whatever the server's default: a stricter level would show a change the state before it got its turn.
    const BEGIN_WRITING: &'static str = "BEGIN ISOLATION LEVEL READ COMMITTED";
    const SNAPSHOT: &'static str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    const LOCK: &'static str = "FOR UPDATE";
    const INT: &'static str = "BIGINT";

    sends!(sqlx::Postgres, true);
}
