//! PostgreSQL.

use super::dialect::Dialect;
use super::migrations::migrations;
use super::pools::{ACQUIRE_TIMEOUT, LISTS, Pools, SHARED};
use super::schema::{self, Schema};
use crate::store::StoreError;
use sqlx::Postgres;
use sqlx::postgres::PgConnectOptions;
use web::sql::{Statement, postgres_pool, server_options};

pub(in crate::store) async fn open(url: &str, schema: Schema) -> Result<Pools<Postgres>, StoreError> {
    let options: PgConnectOptions = server_options(url, ACQUIRE_TIMEOUT).await?;
    let pool = postgres_pool(options.clone(), SHARED);
    schema::prepare(&pool, migrations!("postgres"), schema).await?;
    Ok(Pools::shared(pool, postgres_pool(options, LISTS)))
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

    /// ILIKE ignores the case of A-Z only, because the columns have the collation "C".
    fn matches(statement: Statement, pattern: String) -> Statement {
        let statement = statement.text("(code ILIKE ").bind(pattern.clone()).text(" ESCAPE '!'");
        statement.text(" OR target ILIKE ").bind(pattern).text(" ESCAPE '!')")
    }
}
