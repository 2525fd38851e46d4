//! PostgreSQL's words.

use super::database::{Database, Transaction};
use super::rows::{LinkRow, like_pattern, links, numbered, numbers_before, target_hash};
use super::schema::{self, Schema};
use super::{Checkpoint, StoreError};
use crate::domain::{Code, Link, Page, PageRequest, ROWS_REACHED_MAX};
use evenkeel::clock::Clock;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{Connection, PgConnection, QueryBuilder};
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

/// Connections of one instance.
const CONNECTIONS_MAX: u32 = 16;

/// How long a request waits for a connection.
const ACQUIRE_MAX: Duration = Duration::from_secs(5);

const SELECT: &str = "SELECT id, code, target, alias, created_at, updated_at, expires_at, version FROM links";

pub(super) struct Postgres(PgPool);

impl Postgres {
    pub(super) async fn open(url: &str, clock: &Clock, schema: Schema) -> Result<Self, StoreError> {
        let options = PgConnectOptions::from_str(url)?;
        // A connection of its own first: a pool would retry, and then only say that time ran out.
        let first = clock.timeout(ACQUIRE_MAX, PgConnection::connect_with(&options)).await;
        let mut first = first.map_err(|_| sqlx::Error::PoolTimedOut)??;
        schema::prepare(&mut first, sqlx::migrate!("migrations/postgres"), schema).await?;
        first.close().await?;
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS_MAX)
            .acquire_timeout(ACQUIRE_MAX)
            .connect_lazy_with(options);
        Ok(Self(pool))
    }
}

impl Database for Postgres {
    type Transaction = PostgresTransaction;

    async fn begin(&self) -> Result<PostgresTransaction, StoreError> {
        // READ COMMITTED whatever the server's default: a stricter level would show an import the state before it got its turn.
        Ok(PostgresTransaction(self.0.begin_with("BEGIN ISOLATION LEVEL READ COMMITTED").await?))
    }

    async fn insert(&self, link: &Link) -> Result<(), StoreError> {
        insert(&mut *self.0.acquire().await?, std::slice::from_ref(link)).await
    }

    async fn find_many(&self, codes: &[Code]) -> Result<Vec<Link>, StoreError> {
        find_many(&mut *self.0.acquire().await?, codes).await
    }

    async fn delete(&self, code: &Code, expected: Option<i64>) -> Result<bool, StoreError> {
        let delete = sqlx::query("DELETE FROM links WHERE code = $1 AND version = COALESCE($2, version)");
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
        sqlx::query("INSERT INTO link_settings (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING")
            .bind(name)
            .bind(value)
            .execute(&self.0)
            .await?;
        Ok(sqlx::query_scalar("SELECT value FROM link_settings WHERE name = $1").bind(name).fetch_one(&self.0).await?)
    }

    async fn checkpoint(&self, source: &str) -> Result<Option<String>, StoreError> {
        let select = sqlx::query_scalar("SELECT state FROM link_imports WHERE source = $1");
        Ok(select.bind(source).fetch_optional(&self.0).await?)
    }

    async fn forget_checkpoint(&self, source: &str) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM link_imports WHERE source = $1").bind(source).execute(&self.0).await?;
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

pub(super) struct PostgresTransaction(sqlx::Transaction<'static, sqlx::Postgres>);

impl Transaction for PostgresTransaction {
    async fn find_locked(&mut self, code: &Code) -> Result<Option<Link>, StoreError> {
        let mut select = QueryBuilder::new(SELECT);
        select.push(" WHERE code = ").push_bind(code.as_str()).push(" FOR UPDATE");
        let row: Option<LinkRow> = select.build_query_as().fetch_optional(&mut *self.0).await?;
        row.map(LinkRow::into_link).transpose()
    }

    async fn update(&mut self, link: &Link) -> Result<(), StoreError> {
        let update = "UPDATE links SET target = $1, target_hash = $2, updated_at = $3, expires_at = $4, version = $5
            WHERE code = $6";
        sqlx::query(update)
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
        let hashes: Vec<Vec<u8>> = targets.iter().map(|target| target_hash(target)).collect();
        let select = sqlx::query_scalar("SELECT DISTINCT target FROM links WHERE target_hash = ANY($1)");
        Ok(select.bind(hashes).fetch_all(&mut *self.0).await?)
    }

    async fn insert_many(&mut self, links: &[Link]) -> Result<(), StoreError> {
        insert(&mut self.0, links).await
    }

    async fn keep_checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), StoreError> {
        let upsert = "INSERT INTO link_imports (source, state) VALUES ($1, $2)
            ON CONFLICT (source) DO UPDATE SET state = excluded.state";
        sqlx::query(upsert).bind(&checkpoint.source).bind(&checkpoint.state).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn commit(self) -> Result<(), StoreError> {
        Ok(self.0.commit().await?)
    }
}

async fn insert(connection: &mut PgConnection, links: &[Link]) -> Result<(), StoreError> {
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

async fn find_many(connection: &mut PgConnection, codes: &[Code]) -> Result<Vec<Link>, StoreError> {
    if codes.is_empty() {
        return Ok(Vec::new());
    }
    let codes: Vec<&str> = codes.iter().map(Code::as_str).collect();
    let mut select = QueryBuilder::new(SELECT);
    select.push(" WHERE code = ANY(").push_bind(codes).push(")");
    links(select.build_query_as().fetch_all(connection).await?)
}

async fn reserve(connection: &mut PgConnection, count: u64) -> Result<Range<u64>, StoreError> {
    let update = "UPDATE link_sequences SET next_value = next_value + $1 WHERE name = 'codes' RETURNING next_value";
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let end: i64 = sqlx::query_scalar(update).bind(count).fetch_one(connection).await?;
    numbers_before(end, count)
}

/// ILIKE takes upper and lower case for the same, as far as the database's locale knows the letters.
fn push_search(query: &mut QueryBuilder<sqlx::Postgres>, request: &PageRequest) {
    if let Some(text) = request.search() {
        let pattern = like_pattern(text);
        query.push(" WHERE (code ILIKE ").push_bind(pattern.clone()).push(" ESCAPE '!'");
        query.push(" OR target ILIKE ").push_bind(pattern).push(" ESCAPE '!')");
    }
}
