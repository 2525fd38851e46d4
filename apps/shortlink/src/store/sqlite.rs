//! SQLite's words. One connection writes, several read: SQLite has one writer at a time anyway, and a queue in front of it is
//! fairer and cheaper than a busy lock.

use super::StoreError;
use super::dialect::Dialect;
use super::pools::{LISTS_MAX, Pools};
use super::schema::{self, Schema};
use sqlx::Sqlite;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use std::path::Path;
use web::sql::{Statement, sqlite_options};

/// Readers at once; more would only share two cores' worth of disk cache among more threads.
const READERS_MAX: u32 = 4;

/// What the writer keeps of the file in memory, in KiB. Both indexes are written at random places; with SQLite's usual 2 MiB an
/// import slows down as the file grows.
const WRITER_CACHE_KIB: &str = "-32768";

/// Pages of the write-ahead log before it is folded into the file, so that pages that change often are written once: 8 MiB. (The
/// log takes up to that much, and what was written meanwhile, however small the database is.)
const LOG_PAGES: &str = "2048";

/// What stays of the log once it is folded into the file, in bytes.
const LOG_BYTES: &str = "8388608";

pub(super) async fn open(path: &Path, schema: Schema) -> Result<Pools<Sqlite>, StoreError> {
    let options = sqlite_options(path, LOG_BYTES);
    let writer = options.clone().pragma("cache_size", WRITER_CACHE_KIB).pragma("wal_autocheckpoint", LOG_PAGES);
    let writers = SqlitePoolOptions::new().max_connections(1).connect_with(writer).await?;
    schema::prepare(&writers, sqlx::migrate!("migrations/sqlite"), schema).await?;
    let readers =
        SqlitePoolOptions::new().max_connections(READERS_MAX).connect_lazy_with(options.clone().read_only(true));
    let lists = SqlitePoolOptions::new().max_connections(LISTS_MAX).connect_lazy_with(options.read_only(true));
    Ok(Pools { writers, readers, lists })
}

/// Pools that give out no connection.
pub(super) async fn closed() -> Pools<Sqlite> {
    let pool = SqlitePoolOptions::new().connect_lazy_with(SqliteConnectOptions::new());
    pool.close().await;
    Pools::shared(pool.clone(), pool)
}

impl Dialect for Sqlite {
    // A transaction that starts as a reader and then wants to write could not wait for another process's lock.
    const OPENS: &'static str = "BEGIN IMMEDIATE";
    // The whole file is ours until the end of the transaction.
    const HOLDS: &'static str = "";
    const KEEPS: (&'static str, &'static str) = ("INSERT OR IGNORE INTO ", "");
    const REPLACES: (&'static str, &'static str) = ("REPLACE INTO ", "");

    async fn reserve(connection: &mut Self::Connection, count: i64) -> Result<i64, sqlx::Error> {
        let update = "UPDATE link_sequences SET next_value = next_value + ? WHERE name = 'codes' RETURNING next_value";
        sqlx::query_scalar(update).bind(count).fetch_one(connection).await
    }

    /// LIKE of SQLite takes A-Z and a-z for the same, and no other letters.
    fn matches(statement: Statement, pattern: String) -> Statement {
        let statement = statement.text("(code LIKE ").bind(pattern.clone()).text(" ESCAPE '!'");
        statement.text(" OR target LIKE ").bind(pattern).text(" ESCAPE '!')")
    }
}
