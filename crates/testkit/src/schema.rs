//! The tables of a database as text that can be compared, and the library's tables as an older version of it created them.

use anyhow::{Context, Result};
use sqlx::{AssertSqlSafe, Connection, MySqlConnection, PgConnection, SqliteConnection};
use std::path::Path;

/// One row for each column and index.
const MYSQL: &str = "
    SELECT CAST(CONCAT_WS(' ', table_name, ordinal_position, column_name, column_type, is_nullable,
                          COALESCE(column_default, '-'), COALESCE(collation_name, '-')) AS CHAR) AS line
        FROM information_schema.columns WHERE table_schema = DATABASE()
    UNION ALL
    SELECT CAST(CONCAT_WS(' ', 'index', table_name, index_name, seq_in_index, column_name, non_unique) AS CHAR)
        FROM information_schema.statistics WHERE table_schema = DATABASE()
    ORDER BY line";
const POSTGRES: &str = "
    SELECT CONCAT_WS(' ', table_name, ordinal_position, column_name, data_type, is_nullable,
                     COALESCE(column_default, '-'), COALESCE(collation_name, '-')) AS line
        FROM information_schema.columns WHERE table_schema = current_schema()
    UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema()
    ORDER BY line";
const SQLITE: &str = "
    SELECT tables.name || ' ' || cid || ' ' || columns.name || ' ' || UPPER(columns.type) || ' ' || \"notnull\" || ' ' || COALESCE(dflt_value, '-')
           || ' ' || pk AS line
        FROM sqlite_master AS tables JOIN pragma_table_info(tables.name) AS columns WHERE tables.type = 'table'
    UNION ALL SELECT 'index ' || name || ' ' || COALESCE(sql, '') FROM sqlite_master WHERE type = 'index'
    ORDER BY line";

/// Creates the table that records the library's migrations.
const CREATE_RECORD: &str = "CREATE TABLE evenkeel_migrations \
                     (version BIGINT NOT NULL PRIMARY KEY, name {text} NOT NULL, run_at BIGINT NOT NULL)";

/// Runs `$body` with a connection to the database at `$url`.
macro_rules! with_connection {
    ($url:expr, |$connection:ident, $kind:ident| $body:expr) => {
        match $url.split_once(':').context("an address")?.0 {
            "mysql" => {
                let ($kind, mut $connection) = ("mysql", MySqlConnection::connect($url).await?);
                $body
            }
            "sqlite" => {
                let ($kind, mut $connection) = ("sqlite", SqliteConnection::connect($url).await?);
                $body
            }
            _ => {
                let ($kind, mut $connection) = ("postgres", PgConnection::connect($url).await?);
                $body
            }
        }
    };
}

/// Every table, column and index of the database at `url`, in a fixed order.
///
/// # Errors
/// The database cannot be queried.
pub async fn described(url: &str) -> Result<Vec<String>> {
    with_connection!(url, |connection, kind| {
        let text = match kind {
            "mysql" => MYSQL,
            "sqlite" => SQLITE,
            _ => POSTGRES,
        };
        let lines: Vec<String> = sqlx::query_scalar(text).fetch_all(&mut connection).await?;
        connection.close().await?;
        Ok(lines)
    })
}

/// Creates the library's tables in an empty database as the version with `count` migrations created them.
///
/// # Errors
/// The library has no more than `count` migrations, or the database returns an error.
pub async fn make_older_library(url: &str, count: usize) -> Result<()> {
    with_connection!(url, |connection, kind| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../evenkeel/src/sql/migrations").join(kind);
        let mut files: Vec<_> = std::fs::read_dir(&folder)?.map(|file| Ok(file?.path())).collect::<Result<_>>()?;
        files.sort();
        anyhow::ensure!(
            count < files.len(),
            "the library has {} migrations: {count} is not an older version",
            files.len()
        );
        let create_record = CREATE_RECORD.replace("{text}", if kind == "mysql" { "VARBINARY(255)" } else { "TEXT" });
        sqlx::raw_sql(AssertSqlSafe(create_record)).execute(&mut connection).await?;
        for (at, file) in files[..count].iter().enumerate() {
            let script = std::fs::read_to_string(file)?;
            sqlx::raw_sql(AssertSqlSafe(script)).execute(&mut connection).await?;
            let name = file.file_stem().and_then(|name| name.to_str()).context("a name")?;
            let record =
                format!("INSERT INTO evenkeel_migrations (version, name, run_at) VALUES ({}, '{name}', 0)", at + 1);
            sqlx::raw_sql(AssertSqlSafe(record)).execute(&mut connection).await?;
        }
        connection.close().await?;
        Ok(())
    })
}
