//! One database with a small table in it, and a keel in memory.

pub(super) use crate::in_time;
use evenkeel::Keel;
use evenkeel::cache::Cache;
use evenkeel::queue::Queue;
use evenkeel::sql::{Database, migrate};
use sqlx::pool::PoolOptions;
use sqlx::{AssertSqlSafe, MySql, Pool, Postgres, Sqlite};
use std::future::Future;
use std::time::Duration;
use testkit::park;

/// A database of the matrix, with the two things that tests do with it.
pub(super) trait Sql: Database {
    /// A fresh database.
    async fn fresh() -> park::Database;

    /// Sends a statement.
    fn run(connection: &mut Self::Connection, sql: &str) -> impl Future<Output = Result<u64, sqlx::Error>> + Send;

    /// Reads one number.
    fn number(
        connection: &mut Self::Connection,
        sql: &str,
    ) -> impl Future<Output = Result<Option<i64>, sqlx::Error>> + Send;

    /// Reads rows of a text and a number.
    fn pairs(
        connection: &mut Self::Connection,
        sql: &str,
    ) -> impl Future<Output = Result<Vec<(String, i64)>, sqlx::Error>> + Send;

    /// Reads rows of two numbers.
    fn numbers(
        connection: &mut Self::Connection,
        sql: &str,
    ) -> impl Future<Output = Result<Vec<(i64, i64)>, sqlx::Error>> + Send;

    /// The server's version string.
    fn version(connection: &mut Self::Connection) -> impl Future<Output = Result<String, sqlx::Error>> + Send;
}

macro_rules! sql {
    ($database:ty, $fresh:expr, $version:literal) => {
        impl Sql for $database {
            async fn fresh() -> park::Database {
                $fresh
            }

            async fn run(connection: &mut Self::Connection, sql: &str) -> Result<u64, sqlx::Error> {
                let ran = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(connection).await?;
                Ok(ran.rows_affected())
            }

            async fn number(connection: &mut Self::Connection, sql: &str) -> Result<Option<i64>, sqlx::Error> {
                sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).persistent(false).fetch_optional(connection).await
            }

            async fn pairs(connection: &mut Self::Connection, sql: &str) -> Result<Vec<(String, i64)>, sqlx::Error> {
                sqlx::query_as(AssertSqlSafe(sql.to_owned())).persistent(false).fetch_all(connection).await
            }

            async fn numbers(connection: &mut Self::Connection, sql: &str) -> Result<Vec<(i64, i64)>, sqlx::Error> {
                sqlx::query_as(AssertSqlSafe(sql.to_owned())).persistent(false).fetch_all(connection).await
            }

            async fn version(connection: &mut Self::Connection) -> Result<String, sqlx::Error> {
                sqlx::query_scalar($version).fetch_one(connection).await
            }
        }
    };
}

sql!(Sqlite, park::sqlite_database().unwrap(), "SELECT sqlite_version()");
sql!(MySql, park::mariadb_database().await.unwrap(), "SELECT VERSION()");
sql!(Postgres, park::postgres_database().await.unwrap(), "SHOW server_version");

/// The table `stock`: product 1 has 10 units, product 2 has 20.
const TABLE: [&str; 2] = [
    "CREATE TABLE stock (id BIGINT NOT NULL PRIMARY KEY, units BIGINT NOT NULL)",
    "INSERT INTO stock (id, units) VALUES (1, 10), (2, 20)",
];

/// A database, and a keel that caches its table.
pub(super) struct Rig<DB: Sql> {
    pub(super) keel: Keel,
    pub(super) pool: Pool<DB>,
    pub(super) database: park::Database,
    pub(super) stock: Cache<i64, i64>,
    pub(super) mail: Queue<String>,
}

impl<DB: Sql> Rig<DB> {
    /// With a keel in memory.
    pub(super) async fn open() -> Self {
        Self::with(Keel::memory()).await
    }

    /// With this keel.
    pub(super) async fn with(keel: Keel) -> Self {
        let database = DB::fresh().await;
        let pool = pool::<DB>(&database.url, 8).await;
        migrate(&pool).await.unwrap();
        for statement in TABLE {
            DB::run(&mut pool.acquire().await.unwrap(), statement).await.unwrap();
        }
        let stock = keel.cache("stock").ttl(Duration::from_secs(600)).open().await.unwrap();
        let mail = keel.queue("mail").open().await.unwrap();
        Self { keel, pool, database, stock, mail }
    }

    /// Units of product 1, as the cache knows them.
    pub(super) async fn cached_units(&self) -> i64 {
        let pool = self.pool.clone();
        let load = async move { DB::number(&mut *pool.acquire().await?, "SELECT units FROM stock WHERE id = 1").await };
        let found = Box::pin(self.stock.get(&1, |_| load)).await.unwrap();
        found.map_or(0, |units| *units)
    }

    /// Units of product 1, as the database has them.
    pub(super) async fn units(&self) -> i64 {
        self.number("SELECT units FROM stock WHERE id = 1").await
    }

    /// A number from the database; nothing counts as 0.
    pub(super) async fn number(&self, sql: &str) -> i64 {
        DB::number(&mut self.pool.acquire().await.unwrap(), sql).await.unwrap().unwrap_or(0)
    }

    /// The number of units of work in this state.
    pub(super) async fn outbox_rows(&self, state: i64) -> i64 {
        self.number(&format!("SELECT COUNT(*) FROM evenkeel_outbox WHERE state = {state}")).await
    }
}

/// A pool that asks its connections nothing on its own account.
pub(super) async fn pool<DB: Sql>(url: &str, connections: u32) -> Pool<DB> {
    let options = PoolOptions::new().max_connections(connections).test_before_acquire(false);
    options.acquire_timeout(Duration::from_secs(20)).connect(url).await.unwrap()
}

/// Polls a future until it has waited so often, then drops it.
pub(super) async fn dropped_after<F: Future>(waits: usize, future: F) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    let mut waited = 0;
    std::future::poll_fn(|context| match future.as_mut().poll(context) {
        std::task::Poll::Ready(output) => std::task::Poll::Ready(Some(output)),
        std::task::Poll::Pending if waited == waits => std::task::Poll::Ready(None),
        std::task::Poll::Pending => {
            waited += 1;
            std::task::Poll::Pending
        }
    })
    .await
}
