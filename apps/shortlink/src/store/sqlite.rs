//! SQLite's words. One connection writes, several read: SQLite has one writer at a time anyway, and a queue in front of it is
//! fairer and cheaper than a busy lock.

use super::database::{Database, Transaction};
use super::rows::{LinkRow, like_pattern, links, numbered, numbers_before, target_hash};
use super::schema::{self, Schema};
use super::{Checkpoint, StoreError};
use crate::domain::{Code, Link, Page, PageRequest, ROWS_REACHED_MAX};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{QueryBuilder, SqliteConnection};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

/// Readers at once; more would only share two cores' worth of disk cache among more threads.
const READERS_MAX: u32 = 4;

/// How long another process may keep the file locked (a backup, a command line).
const BUSY_MAX: Duration = Duration::from_secs(10);

/// What the writer keeps of the file in memory, in KiB. Both indexes are written at random places; with SQLite's usual 2 MiB an
/// import slows down as the file grows.
const WRITER_CACHE_KIB: &str = "-32768";

/// Pages of the write-ahead log before it is folded into the file: 32 MiB, so that pages that change often are written once.
const LOG_PAGES: &str = "8192";

const SELECT: &str = "SELECT id, code, target, alias, created_at, updated_at, expires_at, version FROM links";

pub(super) struct Sqlite {
    writer: SqlitePool,
    readers: SqlitePool,
}

impl Sqlite {
    pub(super) async fn open(path: &Path, schema: Schema) -> Result<Self, StoreError> {
        // FULL: what was answered survives a power cut, as on the other databases.
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY_MAX);
        let writer = options.clone().pragma("cache_size", WRITER_CACHE_KIB).pragma("wal_autocheckpoint", LOG_PAGES);
        let writer = SqlitePoolOptions::new().max_connections(1).connect_with(writer).await?;
        schema::prepare(&mut *writer.acquire().await?, sqlx::migrate!("migrations/sqlite"), schema).await?;
        let readers = SqlitePoolOptions::new().max_connections(READERS_MAX).connect_lazy_with(options.read_only(true));
        Ok(Self { writer, readers })
    }
}

impl Database for Sqlite {
    type Transaction = SqliteTransaction;

    async fn begin(&self) -> Result<SqliteTransaction, StoreError> {
        // IMMEDIATE: a transaction that starts as a reader and then wants to write could not wait for another process's lock.
        Ok(SqliteTransaction(self.writer.begin_with("BEGIN IMMEDIATE").await?))
    }

    async fn insert(&self, link: &Link) -> Result<(), StoreError> {
        insert(&mut *self.writer.acquire().await?, std::slice::from_ref(link)).await
    }

    async fn find_many(&self, codes: &[Code]) -> Result<Vec<Link>, StoreError> {
        find_many(&mut *self.readers.acquire().await?, codes).await
    }

    async fn delete(&self, code: &Code, expected: Option<i64>) -> Result<bool, StoreError> {
        let delete = sqlx::query("DELETE FROM links WHERE code = ? AND version = COALESCE(?, version)");
        let done = delete.bind(code.as_str()).bind(expected).execute(&self.writer).await?;
        Ok(done.rows_affected() > 0)
    }

    async fn page(&self, request: &PageRequest) -> Result<Page, StoreError> {
        let mut select = QueryBuilder::new(SELECT);
        push_search(&mut select, request);
        select.push(" ORDER BY id DESC LIMIT ").push_bind(i64::from(request.size()));
        select.push(" OFFSET ").push_bind(i64::try_from(request.skipped()).unwrap_or(i64::MAX));
        let rows: Vec<LinkRow> = select.build_query_as().fetch_all(&self.readers).await?;

        let mut count = QueryBuilder::new("SELECT COUNT(*) FROM (SELECT 1 FROM links");
        push_search(&mut count, request);
        count.push(" LIMIT ").push_bind(i64::try_from(ROWS_REACHED_MAX).unwrap_or(i64::MAX) + 1).push(")");
        let total: i64 = count.build_query_scalar().fetch_one(&self.readers).await?;
        Ok(Page::counted(links(rows)?, total))
    }

    async fn rows_after(&self, after: i64, limit: u32) -> Result<Vec<(i64, Link)>, StoreError> {
        let mut select = QueryBuilder::new(SELECT);
        select.push(" WHERE id > ").push_bind(after).push(" ORDER BY id LIMIT ").push_bind(i64::from(limit));
        numbered(select.build_query_as().fetch_all(&self.readers).await?)
    }

    async fn ending_after(&self, now_ms: i64, after: i64, limit: u32) -> Result<Vec<(i64, Link)>, StoreError> {
        let mut select = QueryBuilder::new(SELECT);
        select.push(" WHERE id > ").push_bind(after).push(" AND expires_at > ").push_bind(now_ms);
        select.push(" ORDER BY id LIMIT ").push_bind(i64::from(limit));
        numbered(select.build_query_as().fetch_all(&self.readers).await?)
    }

    async fn reserve(&self, count: u64) -> Result<Range<u64>, StoreError> {
        reserve(&mut *self.writer.acquire().await?, count).await
    }

    async fn setting_or_insert(&self, name: &str, value: &str) -> Result<String, StoreError> {
        sqlx::query("INSERT INTO link_settings (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING")
            .bind(name)
            .bind(value)
            .execute(&self.writer)
            .await?;
        let select = sqlx::query_scalar("SELECT value FROM link_settings WHERE name = ?");
        Ok(select.bind(name).fetch_one(&self.writer).await?)
    }

    async fn checkpoint(&self, source: &str) -> Result<Option<String>, StoreError> {
        let select = sqlx::query_scalar("SELECT state FROM link_imports WHERE source = ?");
        Ok(select.bind(source).fetch_optional(&self.readers).await?)
    }

    async fn forget_checkpoint(&self, source: &str) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM link_imports WHERE source = ?").bind(source).execute(&self.writer).await?;
        Ok(())
    }

    async fn ping(&self) -> Result<(), StoreError> {
        sqlx::query("SELECT 1 FROM link_sequences").execute(&self.readers).await?;
        Ok(())
    }

    async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

pub(super) struct SqliteTransaction(sqlx::Transaction<'static, sqlx::Sqlite>);

impl Transaction for SqliteTransaction {
    async fn find_locked(&mut self, code: &Code) -> Result<Option<Link>, StoreError> {
        // The whole file is ours until the end of the transaction.
        Ok(find_many(&mut self.0, std::slice::from_ref(code)).await?.pop())
    }

    async fn update(&mut self, link: &Link) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE links SET target = ?, target_hash = ?, updated_at = ?, expires_at = ?, version = ? WHERE code = ?",
        )
        .bind(link.target.as_str())
        .bind(target_hash(link.target.as_str()))
        .bind(link.updated_at.as_millisecond())
        .bind(link.expires_at.map(|end| end.as_millisecond()))
        .bind(link.version)
        .bind(link.code.as_str())
        .execute(&mut *self.0)
        .await?;
        Ok(())
    }

    async fn lock_imports(&mut self) -> Result<(), StoreError> {
        // There is one writer at a time.
        Ok(())
    }

    async fn reserve(&mut self, count: u64) -> Result<Range<u64>, StoreError> {
        reserve(&mut self.0, count).await
    }

    async fn find_many(&mut self, codes: &[Code]) -> Result<Vec<Link>, StoreError> {
        find_many(&mut self.0, codes).await
    }

    async fn known_targets(&mut self, targets: &[&str]) -> Result<Vec<String>, StoreError> {
        if targets.is_empty() {
            return Ok(Vec::new());
        }
        let mut select = QueryBuilder::new("SELECT DISTINCT target FROM links WHERE target_hash IN (");
        let mut hashes = select.separated(", ");
        for target in targets {
            hashes.push_bind(target_hash(target));
        }
        select.push(")");
        Ok(select.build_query_scalar().fetch_all(&mut *self.0).await?)
    }

    async fn insert_many(&mut self, links: &[Link]) -> Result<(), StoreError> {
        insert(&mut self.0, links).await
    }

    async fn keep_checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), StoreError> {
        let upsert = "INSERT INTO link_imports (source, state) VALUES (?, ?)
            ON CONFLICT (source) DO UPDATE SET state = excluded.state";
        sqlx::query(upsert).bind(&checkpoint.source).bind(&checkpoint.state).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn commit(self) -> Result<(), StoreError> {
        Ok(self.0.commit().await?)
    }
}

async fn insert(connection: &mut SqliteConnection, links: &[Link]) -> Result<(), StoreError> {
    if links.is_empty() {
        return Ok(());
    }
    let mut insert = QueryBuilder::new(
        "INSERT INTO links (code, target, target_hash, alias, created_at, updated_at, expires_at, version) ",
    );
    insert.push_values(links, |mut row, link| {
        row.push_bind(link.code.as_str())
            .push_bind(link.target.as_str())
            .push_bind(target_hash(link.target.as_str()))
            .push_bind(link.alias)
            .push_bind(link.created_at.as_millisecond())
            .push_bind(link.updated_at.as_millisecond())
            .push_bind(link.expires_at.map(|end| end.as_millisecond()))
            .push_bind(link.version);
    });
    insert.build().execute(connection).await?;
    Ok(())
}

async fn find_many(connection: &mut SqliteConnection, codes: &[Code]) -> Result<Vec<Link>, StoreError> {
    if codes.is_empty() {
        return Ok(Vec::new());
    }
    let mut select = QueryBuilder::new(SELECT);
    select.push(" WHERE code IN (");
    let mut list = select.separated(", ");
    for code in codes {
        list.push_bind(code.as_str());
    }
    select.push(")");
    links(select.build_query_as().fetch_all(connection).await?)
}

async fn reserve(connection: &mut SqliteConnection, count: u64) -> Result<Range<u64>, StoreError> {
    let update = "UPDATE link_sequences SET next_value = next_value + ? WHERE name = 'codes' RETURNING next_value";
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let end: i64 = sqlx::query_scalar(update).bind(count).fetch_one(connection).await?;
    numbers_before(end, count)
}

/// LIKE of SQLite takes A-Z and a-z for the same, and no other letters.
fn push_search(query: &mut QueryBuilder<sqlx::Sqlite>, request: &PageRequest) {
    if let Some(text) = request.search() {
        let pattern = like_pattern(text);
        query.push(" WHERE (code LIKE ").push_bind(pattern.clone()).push(" ESCAPE '!'");
        query.push(" OR target LIKE ").push_bind(pattern).push(" ESCAPE '!')");
    }
}
