//! MySQL and MariaDB: only SQL that both support (no `RETURNING`).

use super::dialect::Dialect;
use super::migrations::migrations;
use super::pools::{ACQUIRE_TIMEOUT, LISTS, Pools, SHARED};
use super::schema::{self, Schema};
use crate::store::StoreError;
use sqlx::MySql;
use sqlx::mysql::MySqlConnectOptions;
use web::sql::{Statement, mysql_pool, server_options};

pub(in crate::store) async fn open(url: &str, schema: Schema) -> Result<Pools<MySql>, StoreError> {
    let options: MySqlConnectOptions = server_options(url, ACQUIRE_TIMEOUT).await?;
    let pool = mysql_pool(options.clone(), SHARED);
    schema::prepare(&pool, migrations!("mysql"), schema).await?;
    Ok(Pools::shared(pool, mysql_pool(options, LISTS)))
}

impl Dialect for MySql {
    const BEGIN_WRITE: &'static str = "BEGIN";
    const INSERT_IGNORE: (&'static str, &'static str) = ("INSERT IGNORE INTO ", "");
    // VALUES() in ON DUPLICATE KEY is deprecated in MySQL, and MariaDB does not support its replacement. REPLACE works on both, and
    // no foreign key refers to these rows.
    const UPSERT: (&'static str, &'static str) = ("REPLACE INTO ", "");

    // An addition needs the new value, and `VALUES()` is all that both know for it: MySQL 9.7 still accepts it.
    const ADD_CLICKS: &'static str =
        " ON DUPLICATE KEY UPDATE people = people + VALUES(people), bots = bots + VALUES(bots)";

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
