//! PostgreSQL.

use super::dialect::Dialect;
use super::pools::{LISTS_MAX, Pools};
use super::schema::{self, Schema};
use crate::store::StoreError;
use sqlx::Postgres;
use std::time::Duration;
use web::sql::{PoolLimits, Statement, postgres_options, postgres_pool};

/// Connections of one instance.
const CONNECTIONS_MAX: u32 = 16;

/// Timeout for a pooled connection, and for the first connection at the start.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

pub(in crate::store) async fn open(url: &str, schema: Schema) -> Result<Pools<Postgres>, StoreError> {
    let options = postgres_options(url, ACQUIRE_TIMEOUT).await?;
    let limits = |connections_max| PoolLimits { connections_max, acquire_timeout: ACQUIRE_TIMEOUT };
    let pool = postgres_pool(options.clone(), limits(CONNECTIONS_MAX));
    schema::prepare(&pool, sqlx::migrate!("migrations/postgres"), schema).await?;
    Ok(Pools::shared(pool, postgres_pool(options, limits(LISTS_MAX))))
}

impl Dialect for Postgres {
    // Explicit, because the server's default may be stricter: an import would not see what was committed while it waited for its lock.
    const BEGIN_WRITE: &'static str = "BEGIN ISOLATION LEVEL READ COMMITTED";
    const INSERT_IGNORE: (&'static str, &'static str) = ("INSERT INTO ", " ON CONFLICT DO NOTHING");
    const UPSERT: (&'static str, &'static str) =
        ("INSERT INTO ", " ON CONFLICT (source) DO UPDATE SET state = excluded.state");

    const ADD_CLICKS: &'static str = " ON CONFLICT (code, day) DO UPDATE \
        SET people = link_clicks.people + excluded.people, bots = link_clicks.bots + excluded.bots";

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
