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

    /// Lower-cases A-Z in the columns, whose collations are binary, as far as the pattern has these letters: `LOWER` also changes other
    /// letters, and collations that ignore case also ignore accents.
    fn matches(statement: Statement, pattern: String) -> Statement {
        let pattern = pattern.to_ascii_lowercase();
        let letters = ('a'..='z').filter(|letter| pattern.contains(*letter));
        let lower = |column: &str| {
            let replace =
                |text, letter: char| format!("REPLACE({text}, '{}', '{letter}')", letter.to_ascii_uppercase());
            letters.clone().fold(format!("{column} COLLATE utf8mb4_bin"), replace)
        };
        let (code, target) = (lower("CONVERT(code USING utf8mb4)"), lower("target"));
        let statement = statement.text("(").text(code).text(" LIKE ").bind(pattern.clone()).text(" ESCAPE '!' OR ");
        statement.text(target).text(" LIKE ").bind(pattern).text(" ESCAPE '!')")
    }
}
