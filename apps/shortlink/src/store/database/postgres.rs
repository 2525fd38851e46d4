//! PostgreSQL.

use super::dialect::{Dialect, wire};
use super::pools::{LISTS_MAX, Pools};
use super::schema::{self, Schema};
use super::statement::Statement;
use crate::store::StoreError;
use evenkeel::clock::Clock;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgConnection, Postgres};
use std::str::FromStr;
use std::time::Duration;

/// Connections of one instance.
const CONNECTIONS_MAX: u32 = 16;

/// How long a request waits for a connection.
const ACQUIRE_MAX: Duration = Duration::from_secs(5);

pub(in crate::store) async fn open(url: &str, clock: &Clock, schema: Schema) -> Result<Pools<Postgres>, StoreError> {
    let options = PgConnectOptions::from_str(url)?;
    // A single connection first, for its error: a pool would retry and then report only a timeout.
    let first = clock.timeout(ACQUIRE_MAX, PgConnection::connect_with(&options)).await;
    first.map_err(|_| sqlx::Error::PoolTimedOut)??.close().await?;
    let lists = PgPoolOptions::new().max_connections(LISTS_MAX).acquire_timeout(ACQUIRE_MAX);
    let lists = lists.connect_lazy_with(options.clone());
    let pool =
        PgPoolOptions::new().max_connections(CONNECTIONS_MAX).acquire_timeout(ACQUIRE_MAX).connect_lazy_with(options);
    schema::prepare(&pool, sqlx::migrate!("migrations/postgres"), schema).await?;
    Ok(Pools::shared(pool, lists))
}

wire!(Postgres);

impl Dialect for Postgres {
    // Explicit, because the server's default may be stricter: an import would not see what was committed while it waited for its lock.
    const BEGIN_WRITE: &'static str = "BEGIN ISOLATION LEVEL READ COMMITTED";
    const FOR_UPDATE: &'static str = " FOR UPDATE";
    const INSERT_IGNORE: (&'static str, &'static str) = ("INSERT INTO ", " ON CONFLICT DO NOTHING");
    const UPSERT: (&'static str, &'static str) =
        ("INSERT INTO ", " ON CONFLICT (source) DO UPDATE SET state = excluded.state");

    async fn reserve(connection: &mut Self::Connection, count: i64) -> Result<i64, sqlx::Error> {
        let update = "UPDATE link_sequences SET next_value = next_value + $1 WHERE name = 'codes' RETURNING next_value";
        sqlx::query_scalar(update).bind(count).fetch_one(connection).await
    }

    /// ILIKE ignores the case of the letters that the database's locale knows.
    fn matches(statement: Statement, pattern: String) -> Statement {
        let statement = statement.text("(code ILIKE ").bind(pattern.clone()).text(" ESCAPE '!'");
        statement.text(" OR target ILIKE ").bind(pattern).text(" ESCAPE '!')")
    }
}
