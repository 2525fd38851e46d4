//! SQLite, with one write connection and several read connections. SQLite has one writer at a time anyway, and waiting in the pool is
//! fairer and cheaper than its busy lock.

use super::dialect::Dialect;
use super::migrations::migrations;
use super::pools::{LISTS_MAX, Pools};
use super::schema::{self, Schema};
use crate::store::StoreError;
use sqlx::Sqlite;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use std::path::Path;
use web::sql::{Statement, sqlite_options};

/// Concurrent reads; more connections would only divide the page cache.
const READERS_MAX: u32 = 4;

/// Page cache of the writer, in KiB. Both indexes are updated at random positions; with SQLite's default of 2 MiB an import slows
/// down as the file grows.
const WRITER_CACHE_KIB: &str = "-32768";

/// Pages of the write-ahead log before a checkpoint (8 MiB), so that pages that change often are written back once.
const LOG_PAGES: &str = "2048";

/// Bytes to which the write-ahead log is truncated after a checkpoint.
const LOG_BYTES: &str = "8388608";

pub(in crate::store) async fn open(path: &Path, schema: Schema) -> Result<Pools<Sqlite>, StoreError> {
    let options = sqlite_options(path, LOG_BYTES);
    let writer = options.clone().pragma("cache_size", WRITER_CACHE_KIB).pragma("wal_autocheckpoint", LOG_PAGES);
    let writers = SqlitePoolOptions::new().max_connections(1).connect_with(writer).await?;
    schema::prepare(&writers, migrations!("sqlite"), schema).await?;
    let readers =
        SqlitePoolOptions::new().max_connections(READERS_MAX).connect_lazy_with(options.clone().read_only(true));
    let lists = SqlitePoolOptions::new().max_connections(LISTS_MAX).connect_lazy_with(options.read_only(true));
    Ok(Pools { writers, readers, lists })
}

/// Closed pools: acquiring a connection fails at once.
pub(in crate::store) async fn closed() -> Pools<Sqlite> {
    let pool = SqlitePoolOptions::new().connect_lazy_with(SqliteConnectOptions::new());
    pool.close().await;
    Pools::shared(pool.clone(), pool)
}

impl Dialect for Sqlite {
    // A deferred transaction that reads first cannot wait for another process's lock when it writes.
    const BEGIN_WRITE: &'static str = "BEGIN IMMEDIATE";
    const INSERT_IGNORE: (&'static str, &'static str) = ("INSERT OR IGNORE INTO ", "");
    const UPSERT: (&'static str, &'static str) = ("REPLACE INTO ", "");

    const ADD_CLICKS: &'static str = " ON CONFLICT (code, day) DO UPDATE \
        SET people = link_clicks.people + excluded.people, bots = link_clicks.bots + excluded.bots";

    async fn reserve(connection: &mut Self::Connection, count: i64) -> Result<i64, sqlx::Error> {
        let update = "UPDATE link_sequences SET next_value = next_value + ? WHERE name = 'codes' RETURNING next_value";
        sqlx::query_scalar(update).bind(count).fetch_one(connection).await
    }

    /// SQLite's LIKE ignores the case of A-Z only.
    fn matches(statement: Statement, pattern: String) -> Statement {
        let statement = statement.text("(code LIKE ").bind(pattern.clone()).text(" ESCAPE '!'");
        statement.text(" OR target LIKE ").bind(pattern).text(" ESCAPE '!')")
    }
}
