//! Locks in a database, in rows or advisory, by the database's own time.

use super::fleet::Fleet;
use crate::park::{self, mariadb_database, postgres_database, sqlite_database};
use anyhow::Result;
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::lock::{AdvisoryDatabase, AdvisoryLocks, ExclusiveLocks};
use evenkeel::sql::{Database, migrate};
use evenkeel::testing::TestClock;
use sqlx::pool::PoolOptions;
use sqlx::{MySql, Pool, Postgres, Sqlite};
use std::future::Future;
use std::time::Duration;

/// What a pool waits for a connection that was killed.
const ACQUIRE: Duration = Duration::from_secs(20);

/// A database of the run.
pub trait Served: Database {
    /// A database of this test's own.
    fn fresh() -> impl Future<Output = Result<park::Database>>;

    /// Ends all other connections to the database; `false` if there are none to end.
    fn kill_others(pool: &Pool<Self>) -> impl Future<Output = Result<bool>> + Send;
}

impl Served for MySql {
    async fn fresh() -> Result<park::Database> {
        mariadb_database().await
    }

    async fn kill_others(pool: &Pool<Self>) -> Result<bool> {
        let mut connection = pool.acquire().await?;
        let others = "SELECT CAST(id AS SIGNED) FROM information_schema.processlist \
            WHERE db = DATABASE() AND id <> CONNECTION_ID()";
        let others: Vec<i64> = sqlx::query_scalar(others).fetch_all(&mut *connection).await?;
        for other in others {
            // It may have expired by itself.
            let _ =
                sqlx::raw_sql(sqlx::AssertSqlSafe(format!("KILL CONNECTION {other}"))).execute(&mut *connection).await;
        }
        Ok(true)
    }
}

impl Served for Postgres {
    async fn fresh() -> Result<park::Database> {
        postgres_database().await
    }

    async fn kill_others(pool: &Pool<Self>) -> Result<bool> {
        let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
            WHERE datname = current_database() AND pid <> pg_backend_pid()";
        sqlx::query(kill).fetch_all(pool).await?;
        Ok(true)
    }
}

impl Served for Sqlite {
    async fn fresh() -> Result<park::Database> {
        sqlite_database()
    }

    /// A file has no connections that another one could end.
    async fn kill_others(_pool: &Pool<Self>) -> Result<bool> {
        Ok(false)
    }
}

/// How one process locks: made of a keel and its pool.
type Locks<DB> = fn(&Keel, &Pool<DB>) -> Box<dyn ExclusiveLocks>;

/// Processes that lock in one database.
pub struct SqlFleet<DB: Served> {
    database: park::Database,
    clock: TestClock,
    locks: Locks<DB>,
    is_advisory: bool,
}

impl<DB: Served> SqlFleet<DB> {
    /// In rows.
    pub async fn rows() -> Result<Self> {
        Self::open(|keel, pool| Box::new(keel.row_locks(pool)), false).await
    }

    async fn open(locks: Locks<DB>, is_advisory: bool) -> Result<Self> {
        let database = DB::fresh().await?;
        let fleet = Self { database, clock: TestClock::default(), locks, is_advisory };
        let pool = fleet.pool().await?;
        migrate(&pool).await?;
        pool.close().await;
        Ok(fleet)
    }

    /// The pool of one more process.
    pub async fn pool(&self) -> Result<Pool<DB>> {
        Ok(PoolOptions::new().max_connections(2).acquire_timeout(ACQUIRE).connect(&self.database.url).await?)
    }
}

impl<DB: Served + AdvisoryDatabase> SqlFleet<DB> {
    /// The database's own locks.
    pub async fn advisory() -> Result<Self> {
        let locks: Locks<DB> = |keel, pool| {
            let locks: AdvisoryLocks<DB> = keel.advisory_locks(pool);
            Box::new(locks)
        };
        Self::open(locks, true).await
    }
}

impl<DB: Served> Fleet for SqlFleet<DB> {
    fn clock(&self) -> &TestClock {
        &self.clock
    }

    async fn process(&self, clock: Clock) -> Result<Box<dyn ExclusiveLocks>> {
        Ok((self.locks)(&Keel::builder().clock(clock).memory(), &self.pool().await?))
    }

    fn has_fences(&self) -> bool {
        !self.is_advisory
    }

    fn is_held_by_connection(&self) -> bool {
        self.is_advisory
    }

    async fn kill_connections(&self) -> Result<bool> {
        DB::kill_others(&self.pool().await?).await
    }
}
