//! The unit of work: commits with one effect against the bare transaction, and how soon the effect follows the commit. The database
//! and the Redis are on one core, the client on another.

mod commits;

use crate::pin;
use crate::rounds::Plan;
use crate::row::Row;
use anyhow::Result;
use evenkeel::Keel;
use evenkeel::cache::Cache;
use evenkeel::sql::{Database, migrate};
use sqlx::pool::PoolOptions;
use sqlx::{Connection, Pool};
use std::time::Duration;
use testkit::servers::{MariaDb, MariaDbOptions, Postgres, PostgresOptions, Redis, RedisOptions};

const BENCH: &str = "outbox";
/// Rows of the table that the transactions change.
const ACCOUNTS: u64 = 10_000;
/// Transactions at once.
const TASKS: [usize; 2] = [1, 8];

pub(crate) fn run(plan: &Plan) -> Result<Vec<Row>> {
    pin::this_thread(pin::CLIENT_CORE)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let redis = Redis::start(RedisOptions::new()).await?;
        pin::process(redis.process_id(), pin::SERVER_CORE)?;
        let mut rows = Vec::new();
        {
            let server = MariaDb::start(MariaDbOptions::new()).await?;
            pin::process(server.process_id(), pin::SERVER_CORE)?;
            server.execute("CREATE DATABASE bench").await?;
            let stand = Stand::<sqlx::MySql>::open(&redis, &server.database_url("bench")).await?;
            rows.extend(commits::run(plan, &stand, "MariaDB").await?);
        }
        let server = Postgres::start(PostgresOptions::new()).await?;
        pin::process(server.process_id(), pin::SERVER_CORE)?;
        let stand = Stand::<sqlx::Postgres>::open(&redis, &server.url()).await?;
        rows.extend(commits::run(plan, &stand, "PostgreSQL").await?);
        Ok(rows)
    })
}

/// A database with accounts, and a cache of them.
pub(crate) struct Stand<DB: Bank> {
    keel: Keel,
    pool: Pool<DB>,
    accounts: Cache<u64, i64>,
}

// Not derived: that would ask the database itself to be `Clone`.
impl<DB: Bank> Clone for Stand<DB> {
    fn clone(&self) -> Self {
        Self { keel: self.keel.clone(), pool: self.pool.clone(), accounts: self.accounts.clone() }
    }
}

/// A database of the comparison, with the one statement of a transaction.
pub(crate) trait Bank: Database {
    /// Adds to one account.
    fn add(connection: &mut Self::Connection, account: i64) -> impl Future<Output = Result<(), sqlx::Error>> + Send;

    /// Makes the table.
    fn fill(connection: &mut Self::Connection) -> impl Future<Output = Result<(), sqlx::Error>> + Send;
}

macro_rules! bank {
    ($database:ty, $add:literal) => {
        impl Bank for $database {
            async fn add(connection: &mut Self::Connection, account: i64) -> Result<(), sqlx::Error> {
                sqlx::query($add).bind(account).execute(connection).await.map(drop)
            }

            async fn fill(connection: &mut Self::Connection) -> Result<(), sqlx::Error> {
                let table = "CREATE TABLE accounts (id BIGINT NOT NULL PRIMARY KEY, cents BIGINT NOT NULL)";
                sqlx::raw_sql(table).execute(&mut *connection).await?;
                let mut transaction = connection.begin().await?;
                for account in 0..ACCOUNTS {
                    let row = format!("INSERT INTO accounts (id, cents) VALUES ({account}, 0)");
                    sqlx::raw_sql(sqlx::AssertSqlSafe(row)).execute(&mut *transaction).await?;
                }
                transaction.commit().await
            }
        }
    };
}

bank!(sqlx::MySql, "UPDATE accounts SET cents = cents + 1 WHERE id = ?");
bank!(sqlx::Postgres, "UPDATE accounts SET cents = cents + 1 WHERE id = $1");

impl<DB: Bank> Stand<DB> {
    async fn open(redis: &Redis, url: &str) -> Result<Self> {
        let keel = Keel::connect(&redis.url()).await?;
        let pool = PoolOptions::new().max_connections(12).connect(url).await?;
        migrate(&pool).await?;
        DB::fill(&mut *pool.acquire().await?).await?;
        let accounts = keel.cache("account").ttl(Duration::from_secs(600)).build()?;
        Ok(Self { keel, pool, accounts })
    }
}
