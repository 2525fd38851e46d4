//! PostgreSQL's words.

use super::StoreError;
use super::dialect::{Dialect, wire};
use super::pools::{LISTS_MAX, Pools};
use super::schema::{self, Schema};
use super::statement::Statement;
use evenkeel::clock::Clock;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgConnection, Postgres};
use std::str::FromStr;
use std::time::Duration;

/// Connections of one instance.
const CONNECTIONS_MAX: u32 = 16;

/// How long a request waits for a connection.
const ACQUIRE_MAX: Duration = Duration::from_secs(5);

pub(super) async fn open(url: &str, clock: &Clock, schema: Schema) -> Result<Pools<Postgres>, StoreError> {
    let options = PgConnectOptions::from_str(url)?;
    // A connection of its own first: a pool would retry, and then only say that time ran out.
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
    // Whatever the server's default: a stricter level would show an import the state before it got its turn.
    const OPENS: &'static str = "BEGIN ISOLATION LEVEL READ COMMITTED";
    const HOLDS: &'static str = " FOR UPDATE";
    const KEEPS: (&'static str, &'static str) = ("INSERT INTO ", " ON CONFLICT DO NOTHING");
    const REPLACES: (&'static str, &'static str) =
        ("INSERT INTO ", " ON CONFLICT (source) DO UPDATE SET state = excluded.state");

    async fn reserve(connection: &mut Self::Connection, count: i64) -> Result<i64, sqlx::Error> {
        let update = "UPDATE link_sequences SET next_value = next_value + $1 WHERE name = 'codes' RETURNING next_value";
        sqlx::query_scalar(update).bind(count).fetch_one(connection).await
    }

    /// ILIKE takes upper and lower case for the same, as far as the database's locale knows the letters.
    fn matches(statement: Statement, pattern: String) -> Statement {
        let statement = statement.text("(code ILIKE ").bind(pattern.clone()).text(" ESCAPE '!'");
        statement.text(" OR target ILIKE ").bind(pattern).text(" ESCAPE '!')")
    }
}
