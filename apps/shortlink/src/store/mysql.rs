//! MySQL's and MariaDB's words: only what both understand (no `RETURNING`).

use super::database::{Database, Transaction};
use super::rows::{LinkRow, like_pattern, links, numbered, numbers_before, target_hash};
use super::schema::{self, Schema};
use super::{Checkpoint, StoreError};
use crate::domain::{Code, Link, Page, PageRequest, ROWS_REACHED_MAX};
use evenkeel::clock::Clock;
use sqlx::mysql::{MySqlConnectOptions, MySqlPool, MySqlPoolOptions};
use sqlx::{Connection, Executor, MySqlConnection, QueryBuilder};
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

/// Connections of one instance.
const CONNECTIONS_MAX: u32 = 16;

/// How long a request waits for a connection.
const ACQUIRE_MAX: Duration = Duration::from_secs(5);

const SELECT: &str = "SELECT id, code, target, alias, created_at, updated_at, expires_at, version FROM links";

pub(super) struct Mysql(MySqlPool);

impl Mysql {
    pub(super) async fn open(url: &str, clock: &Clock, schema: Schema) -> Result<Self, StoreError> {
        let options = MySqlConnectOptions::from_str(url)?;
        // A connection of its own first: a pool would retry, and then only say that time ran out.
        let first = clock.timeout(ACQUIRE_MAX, MySqlConnection::connect_with(&options)).await;
        let mut first = first.map_err(|_| sqlx::Error::PoolTimedOut)??;
        schema::prepare(&mut first, sqlx::migrate!("migrations/mysql"), schema).await?;
        first.close().await?;
        let pool = MySqlPoolOptions::new()
            .max_connections(CONNECTIONS_MAX)
            .acquire_timeout(ACQUIRE_MAX)
            // The default, REPEATABLE READ, would show an import the state before it got its turn.
            .after_connect(|connection, _| {
                Box::pin(async move {
                    connection.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").await?;
                    Ok(())
                })
            })
            .connect_lazy_with(options);
        Ok(Self(pool))
    }
}

impl Database for Mysql {
    type Transaction = MysqlTransaction;

    async fn begin(&self) -> Result<MysqlTransaction, StoreError> {
        Ok(MysqlTransaction(self.0.begin().await?))
    }

    async fn insert(&self, link: &Link) -> Result<(), StoreError> {
        insert(&mut *self.0.acquire().await?, std::slice::from_ref(link)).await
    }

    async fn find_many(&self, codes: &[Code]) -> Result<Vec<Link>, StoreError> {
        find_many(&mut *self.0.acquire().await?, codes).await
    }

    async fn delete(&self, code: &Code, expected: Option<i64>) -> Result<bool, StoreError> {
        let delete = sqlx::query("DELETE FROM links WHERE code = ? AND version = COALESCE(?, version)");
        let done = delete.bind(code.as_str()).bind(expected).execute(&self.0).await?;
        Ok(done.rows_affected() > 0)
    }

    async fn page(&self, request: &PageRequest) -> Result<Page, StoreError> {
        let mut select = QueryBuilder::new(SELECT);
        push_search(&mut select, request);
        select.push(" ORDER BY id DESC LIMIT ").push_bind(i64::from(request.size()));
        select.push(" OFFSET ").push_bind(i64::try_from(request.skipped()).unwrap_or(i64::MAX));
        let rows: Vec<LinkRow> = select.build_query_as().fetch_all(&self.0).await?;

        let mut count = QueryBuilder::new("SELECT COUNT(*) FROM (SELECT 1 FROM links");
        push_search(&mut count, request);
        count.push(" LIMIT ").push_bind(i64::try_from(ROWS_REACHED_MAX).unwrap_or(i64::MAX) + 1).push(") AS counted");
        let total: i64 = count.build_query_scalar().fetch_one(&self.0).await?;
        Ok(Page::counted(links(rows)?, total))
    }

    async fn rows_after(&self, after: i64, limit: u32) -> Result<Vec<(i64, Link)>, StoreError> {
        let mut select = QueryBuilder::new(SELECT);
        select.push(" WHERE id > ").push_bind(after).push(" ORDER BY id LIMIT ").push_bind(i64::from(limit));
        numbered(select.build_query_as().fetch_all(&self.0).await?)
    }

    async fn ending_after(&self, now_ms: i64, after: i64, limit: u32) -> Result<Vec<(i64, Link)>, StoreError> {
        let mut select = QueryBuilder::new(SELECT);
        select.push(" WHERE id > ").push_bind(after).push(" AND expires_at > ").push_bind(now_ms);
        select.push(" ORDER BY id LIMIT ").push_bind(i64::from(limit));
        numbered(select.build_query_as().fetch_all(&self.0).await?)
    }

    async fn reserve(&self, count: u64) -> Result<Range<u64>, StoreError> {
        reserve(&mut *self.0.acquire().await?, count).await
    }

    async fn setting_or_insert(&self, name: &str, value: &str) -> Result<String, StoreError> {
        sqlx::query("INSERT IGNORE INTO link_settings (name, value) VALUES (?, ?)")
            .bind(name)
            .bind(value)
            .execute(&self.0)
            .await?;
        Ok(sqlx::query_scalar("SELECT value FROM link_settings WHERE name = ?").bind(name).fetch_one(&self.0).await?)
    }

    async fn checkpoint(&self, source: &str) -> Result<Option<String>, StoreError> {
        let select = sqlx::query_scalar("SELECT state FROM link_imports WHERE source = ?");
        Ok(select.bind(source).fetch_optional(&self.0).await?)
    }

    async fn forget_checkpoint(&self, source: &str) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM link_imports WHERE source = ?").bind(source).execute(&self.0).await?;
        Ok(())
    }

    async fn ping(&self) -> Result<(), StoreError> {
        sqlx::query("SELECT 1 FROM link_sequences").execute(&self.0).await?;
        Ok(())
    }

    async fn close(&self) {
        self.0.close().await;
    }
}

pub(super) struct MysqlTransaction(sqlx::Transaction<'static, sqlx::MySql>);

impl Transaction for MysqlTransaction {
    async fn find_locked(&mut self, code: &Code) -> Result<Option<Link>, StoreError> {
        let mut select = QueryBuilder::new(SELECT);
        select.push(" WHERE code = ").push_bind(code.as_str()).push(" FOR UPDATE");
        let row: Option<LinkRow> = select.build_query_as().fetch_optional(&mut *self.0).await?;
        row.map(LinkRow::into_link).transpose()
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
        let lock = "SELECT next_value FROM link_sequences WHERE name = 'imports' FOR UPDATE";
        sqlx::query(lock).execute(&mut *self.0).await?;
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
        // VALUES() in ON DUPLICATE KEY is deprecated in MySQL, its replacement is unknown to MariaDB; REPLACE suits both, and
        // nothing else hangs on this row.
        sqlx::query("REPLACE INTO link_imports (source, state) VALUES (?, ?)")
            .bind(&checkpoint.source)
            .bind(&checkpoint.state)
            .execute(&mut *self.0)
            .await?;
        Ok(())
    }

    async fn commit(self) -> Result<(), StoreError> {
        Ok(self.0.commit().await?)
    }
}

async fn insert(connection: &mut MySqlConnection, links: &[Link]) -> Result<(), StoreError> {
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

async fn find_many(connection: &mut MySqlConnection, codes: &[Code]) -> Result<Vec<Link>, StoreError> {
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

async fn reserve(connection: &mut MySqlConnection, count: u64) -> Result<Range<u64>, StoreError> {
    // LAST_INSERT_ID(expression) hands the new value to this connection alone, with the answer of the UPDATE.
    let update = "UPDATE link_sequences SET next_value = LAST_INSERT_ID(next_value + ?) WHERE name = 'codes'";
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let done = sqlx::query(update).bind(count).execute(connection).await?;
    numbers_before(i64::try_from(done.last_insert_id()).unwrap_or(i64::MAX), count)
}

/// The search takes A-Z and a-z for the same; the columns themselves compare byte for byte.
fn push_search(query: &mut QueryBuilder<sqlx::MySql>, request: &PageRequest) {
    if let Some(text) = request.search() {
        let pattern = like_pattern(text);
        query.push(" WHERE (CONVERT(code USING utf8mb4) COLLATE utf8mb4_general_ci LIKE ").push_bind(pattern.clone());
        query.push(" ESCAPE '!' OR target COLLATE utf8mb4_general_ci LIKE ").push_bind(pattern).push(" ESCAPE '!')");
    }
}
