//! Each story on SQLite, MariaDB and PostgreSQL.

use evenkeel::sql::{Database, migrate};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};
use sqlx::{MySql, Pool, Postgres, Row, Sqlite};
use std::str::FromStr;
use std::time::Duration;
use testkit::park;

/// A story as a test on each of them: an async function of a [`TestDatabase`].
macro_rules! on_each_database {
    ($($story:ident)+) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() {
                super::$story($crate::sql::databases::TestDatabase::<sqlx::Sqlite>::open().await).await;
            })+
        }

        mod mariadb {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() {
                super::$story($crate::sql::databases::TestDatabase::<sqlx::MySql>::open().await).await;
            })+
        }

        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() {
                super::$story($crate::sql::databases::TestDatabase::<sqlx::Postgres>::open().await).await;
            })+
        }
    };
}
pub(crate) use on_each_database;

/// A database of the test's own with evenkeel's tables in it.
pub(crate) struct TestDatabase<DB: Database> {
    pub(crate) pool: Pool<DB>,
    /// Goes last.
    _database: park::Database,
}

/// The statements that a test executes as a user of the database.
pub(crate) trait Tested: Database {
    async fn open() -> (park::Database, Pool<Self>);
    /// Runs a statement; the number of rows that it touched.
    fn run(connection: &mut Self::Connection, text: &'static str) -> impl Future<Output = u64> + Send;
    /// The number that a query answers.
    fn number(connection: &mut Self::Connection, text: &'static str) -> impl Future<Output = i64> + Send;
}

impl<DB: Tested> TestDatabase<DB> {
    pub(crate) async fn open() -> Self {
        let (database, pool) = DB::open().await;
        migrate(&pool).await.unwrap();
        Self { pool, _database: database }
    }

    pub(crate) async fn run(&self, text: &'static str) -> u64 {
        DB::run(&mut self.pool.acquire().await.unwrap(), text).await
    }

    pub(crate) async fn number(&self, text: &'static str) -> i64 {
        DB::number(&mut self.pool.acquire().await.unwrap(), text).await
    }
}

macro_rules! statements {
    () => {
        async fn run(connection: &mut Self::Connection, text: &'static str) -> u64 {
            sqlx::query(text).execute(connection).await.unwrap().rows_affected()
        }

        async fn number(connection: &mut Self::Connection, text: &'static str) -> i64 {
            sqlx::query(text).fetch_one(connection).await.unwrap().get(0)
        }
    };
}

impl Tested for Sqlite {
    async fn open() -> (park::Database, Pool<Self>) {
        let database = park::sqlite_database().unwrap();
        let options = SqliteConnectOptions::from_str(&database.url).unwrap().journal_mode(SqliteJournalMode::Wal);
        let options = options.busy_timeout(Duration::from_secs(60));
        let pool = SqlitePoolOptions::new().max_connections(8).connect_with(options).await.unwrap();
        (database, pool)
    }

    statements!();
}

impl Tested for MySql {
    async fn open() -> (park::Database, Pool<Self>) {
        let database = park::mariadb_database().await.unwrap();
        let pool = Pool::connect(&database.url).await.unwrap();
        (database, pool)
    }

    statements!();
}

impl Tested for Postgres {
    async fn open() -> (park::Database, Pool<Self>) {
        let database = park::postgres_database().await.unwrap();
        let pool = Pool::connect(&database.url).await.unwrap();
        (database, pool)
    }

    statements!();
}
