//! MySQL and MariaDB: only SQL that both support (no `RETURNING`).

use super::dialect::{Dialect, wire};
use super::pools::{LISTS_MAX, Pools};
use super::schema::{self, Schema};
use super::statement::Statement;
use crate::store::StoreError;
use evenkeel::clock::Clock;
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions};
use sqlx::{Connection, Executor, MySql, MySqlConnection};
use std::str::FromStr;
use std::time::Duration;

/// Connections of one instance.
const CONNECTIONS_MAX: u32 = 16;

/// How long a request waits for a connection.
const ACQUIRE_MAX: Duration = Duration::from_secs(5);

pub(in crate::store) async fn open(url: &str, clock: &Clock, schema: Schema) -> Result<Pools<MySql>, StoreError> {
    let options = MySqlConnectOptions::from_str(url)?;
    // A single connection first, for its error: a pool would retry and then report only a timeout.
    let first = clock.timeout(ACQUIRE_MAX, MySqlConnection::connect_with(&options)).await;
    first.map_err(|_| sqlx::Error::PoolTimedOut)??.close().await?;
    let lists = MySqlPoolOptions::new().max_connections(LISTS_MAX).acquire_timeout(ACQUIRE_MAX);
    let lists = lists.connect_lazy_with(options.clone());
    let pool = MySqlPoolOptions::new()
        .max_connections(CONNECTIONS_MAX)
        .acquire_timeout(ACQUIRE_MAX)
        // Under the default, REPEATABLE READ, an import would not see what was committed while it waited for its lock.
        .after_connect(|connection, _| {
            Box::pin(async move {
                connection.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").await?;
                Ok(())
            })
        })
        .connect_lazy_with(options);
    schema::prepare(&pool, sqlx::migrate!("migrations/mysql"), schema).await?;
    Ok(Pools::shared(pool, lists))
}

wire!(MySql);

impl Dialect for MySql {
    const BEGIN_WRITE: &'static str = "BEGIN";
    const FOR_UPDATE: &'static str = " FOR UPDATE";
    const INSERT_IGNORE: (&'static str, &'static str) = ("INSERT IGNORE INTO ", "");
    // VALUES() in ON DUPLICATE KEY is deprecated in MySQL, and MariaDB does not support its replacement. REPLACE works on both, and
    // no foreign key refers to these rows.
    const UPSERT: (&'static str, &'static str) = ("REPLACE INTO ", "");

    async fn reserve(connection: &mut Self::Connection, count: i64) -> Result<i64, sqlx::Error> {
        // LAST_INSERT_ID(expression) returns the new value with the UPDATE, per connection.
        let update = "UPDATE link_sequences SET next_value = LAST_INSERT_ID(next_value + ?) WHERE name = 'codes'";
        let done = sqlx::query(update).bind(count).execute(connection).await?;
        Ok(i64::try_from(done.last_insert_id()).unwrap_or(i64::MAX))
    }

    /// The search ignores case; the columns themselves have binary collations.
    fn matches(statement: Statement, pattern: String) -> Statement {
        let statement = statement.text("(CONVERT(code USING utf8mb4) COLLATE utf8mb4_general_ci LIKE ");
        let statement = statement.bind(pattern.clone()).text(" ESCAPE '!'");
        statement.text(" OR target COLLATE utf8mb4_general_ci LIKE ").bind(pattern).text(" ESCAPE '!')")
    }
}
