//! Locks in rows of a database whose connections get the test's time.

use super::rig::Rig;
use crate::conformance::rig::ServerTime;
use crate::park::{self, mariadb_database, postgres_database};
use anyhow::Result;
use evenkeel::clock::Clock;
use evenkeel::lock::LockName;
use evenkeel::sql::{Database, migrate};
use evenkeel::testing::{RowLock, TestClock};
use sqlx::pool::PoolOptions;
use sqlx::{AssertSqlSafe, MySql, Pool, Postgres};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// A database with the library's tables, on which every story has its own lock.
pub struct Rows<DB: Database> {
    pool: Pool<DB>,
    now: Arc<AtomicU64>,
    _database: park::Database,
}

impl Rows<MySql> {
    /// On the run's MariaDB.
    // shows: lock::RowLocks
    pub async fn mariadb() -> Result<Self> {
        let (database, now) = (mariadb_database().await?, start());
        let (first, later) = (Arc::clone(&now), Arc::clone(&now));
        let options = PoolOptions::new().max_connections(2).test_before_acquire(false);
        let options = options
            .after_connect(move |connection, _| {
                let test_clock = mysql_time(&first);
                Box::pin(async move { sqlx::raw_sql(AssertSqlSafe(test_clock)).execute(connection).await.map(drop) })
            })
            .before_acquire(move |connection, _| {
                let test_clock = mysql_time(&later);
                Box::pin(
                    async move { sqlx::raw_sql(AssertSqlSafe(test_clock)).execute(connection).await.map(|_| true) },
                )
            });
        let pool = options.connect(&database.url).await?;
        migrate(&pool).await?;
        Ok(Self { pool, now, _database: database })
    }
}

impl Rows<Postgres> {
    /// On the run's PostgreSQL, whose time function is hidden by one that returns the time set on its connection.
    // shows: lock::RowLocks
    pub async fn postgres() -> Result<Self> {
        let (database, now) = (postgres_database().await?, start());
        let (first, later) = (Arc::clone(&now), Arc::clone(&now));
        let hide = "CREATE SCHEMA test_clock; CREATE FUNCTION test_clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS \
            $$ SELECT to_timestamp(current_setting('test_clock.now_ms')::bigint / 1000.0) $$";
        let plain = PoolOptions::<Postgres>::new().max_connections(1).connect(&database.url).await?;
        sqlx::raw_sql(hide).execute(&plain).await?;
        plain.close().await;
        let options = PoolOptions::new().max_connections(2).test_before_acquire(false);
        let options = options
            .after_connect(move |connection, _| {
                let test_clock = format!("SET search_path = test_clock, pg_catalog, public; {}", postgres_time(&first));
                Box::pin(async move { sqlx::raw_sql(AssertSqlSafe(test_clock)).execute(connection).await.map(drop) })
            })
            .before_acquire(move |connection, _| {
                let test_clock = postgres_time(&later);
                Box::pin(
                    async move { sqlx::raw_sql(AssertSqlSafe(test_clock)).execute(connection).await.map(|_| true) },
                )
            });
        let pool = options.connect(&database.url).await?;
        migrate(&pool).await?;
        Ok(Self { pool, now, _database: database })
    }
}

impl<DB: Database> Rows<DB> {
    /// A lock with the name `name`. Its time continues where the last story's ended.
    pub fn rig(&self, name: &str) -> Result<Rig<RowLock>> {
        let locks = RowLock::new(&self.pool, Clock::system());
        let time = ServerTime::OnConnections(Arc::clone(&self.now));
        Ok(Rig { locks, time, name: LockName::new(name)?, _redis: None })
    }
}

fn start() -> Arc<AtomicU64> {
    Arc::new(AtomicU64::new(TestClock::default().clock().unix_ms()))
}

fn mysql_time(now: &AtomicU64) -> String {
    let now_ms = now.load(SeqCst);
    format!("SET SESSION timestamp = {}.{:03}", now_ms / 1_000, now_ms % 1_000)
}

fn postgres_time(now: &AtomicU64) -> String {
    format!("SET test_clock.now_ms = '{}'", now.load(SeqCst))
}
