//! A shelf in a database whose amount is read, and written one higher; and a Redis with two processes that try to do that.

use crate::lock::side::rig::Rig;
use anyhow::Result;
use evenkeel::Keel;
use evenkeel::lock::{Fence, Guard};
use evenkeel::sql::Database;
use sqlx::Pool;
use sqlx::pool::PoolOptions;
use std::time::Duration;
use testkit::park::{self, mariadb_database, postgres_database, sqlite_database};

/// A database with a shelf.
pub(super) trait Shelf: Database {
    /// An empty one.
    async fn database() -> Result<park::Database>;
    /// What is on it.
    async fn amount(connection: &mut Self::Connection) -> sqlx::Result<i64>;
    /// Sets the amount.
    async fn put(connection: &mut Self::Connection, amount: i64) -> sqlx::Result<()>;
    /// The usual misuse of fencing tokens: checked when something is written, and never before.
    async fn check_at_write(connection: &mut Self::Connection, name: &str, fence: i64) -> sqlx::Result<bool>;
    /// Runs a statement without values.
    async fn run_test_script(connection: &mut Self::Connection, text: &'static str) -> sqlx::Result<()>;
}

macro_rules! shelf {
    ($database:ty, $new:expr, $store:literal) => {
        impl Shelf for $database {
            async fn database() -> Result<park::Database> {
                $new
            }

            async fn amount(connection: &mut Self::Connection) -> sqlx::Result<i64> {
                sqlx::query_scalar("SELECT amount FROM shelf").fetch_one(connection).await
            }

            async fn put(connection: &mut Self::Connection, amount: i64) -> sqlx::Result<()> {
                // As text: one message, which a test can hold on its way.
                let text = format!("UPDATE shelf SET amount = {amount}");
                sqlx::raw_sql(sqlx::AssertSqlSafe(text)).execute(connection).await.map(drop)
            }

            async fn check_at_write(connection: &mut Self::Connection, name: &str, fence: i64) -> sqlx::Result<bool> {
                let stored = sqlx::query($store).bind(fence).bind(name).bind(fence).execute(connection).await?;
                Ok(stored.rows_affected() == 1)
            }

            async fn run_test_script(connection: &mut Self::Connection, text: &'static str) -> sqlx::Result<()> {
                sqlx::raw_sql(text).execute(connection).await.map(drop)
            }
        }
    };
}

shelf!(
    sqlx::MySql,
    mariadb_database().await,
    "UPDATE evenkeel_guards SET fence = ?, writes = writes + 1 WHERE name = ? AND fence <= ?"
);
shelf!(
    sqlx::Postgres,
    postgres_database().await,
    "UPDATE evenkeel_guards SET fence = $1, writes = writes + 1 WHERE name = $2 AND fence <= $3"
);
shelf!(
    sqlx::Sqlite,
    sqlite_database(),
    "UPDATE evenkeel_guards SET fence = ?, writes = writes + 1 WHERE name = ? AND fence <= ?"
);

/// A shelf, and a Redis whose time a test moves apart from that of the processes.
pub(super) struct Stand<S: Shelf> {
    pub(super) rig: Rig,
    pub(super) pool: Pool<S>,
    /// Lives as long as its pool.
    database: park::Database,
}

impl Stand<sqlx::MySql> {
    pub(super) async fn mariadb() -> Result<Self> {
        Self::with(sqlx::MySql::database().await?).await
    }

    /// A pool of one connection.
    pub(super) async fn alone(&self) -> Result<Pool<sqlx::MySql>> {
        Ok(PoolOptions::new().max_connections(1).connect(&self.database.url).await?)
    }
}

impl Stand<sqlx::Postgres> {
    pub(super) async fn postgres() -> Result<Self> {
        Self::with(sqlx::Postgres::database().await?).await
    }
}

impl Stand<sqlx::Sqlite> {
    pub(super) async fn sqlite() -> Result<Self> {
        Self::with(sqlx::Sqlite::database().await?).await
    }
}

impl<S: Shelf> Stand<S> {
    async fn with(database: park::Database) -> Result<Self> {
        let pool = furnished::<S>(&database.url).await?;
        Ok(Self { rig: Rig::redis().await, pool, database })
    }

    /// Another pool on the same database.
    pub(super) async fn another_pool(&self) -> Result<Pool<S>> {
        open::<S>(&self.database.url).await
    }

    pub(super) async fn processes(&self) -> (Keel, Keel) {
        (self.rig.process().await, self.rig.process().await)
    }

    /// One more, under the fence.
    pub(super) async fn add_one(&self, guard: &Guard) -> Result<()> {
        add_one_in(&self.pool, guard).await.map(drop)
    }

    pub(super) async fn amount(&self) -> Result<i64> {
        Ok(S::amount(&mut *self.pool.acquire().await?).await?)
    }
}

/// One more on the shelf of this database; returns the fence under which it was stored.
pub(super) async fn add_one_in<S: Shelf>(pool: &Pool<S>, guard: &Guard) -> Result<Fence> {
    let mut work = guard.begin(pool).await?;
    let (amount, fence) = (S::amount(work.tx()?).await?, work.fence());
    S::put(work.tx()?, amount + 1).await?;
    work.commit().await?;
    Ok(fence)
}

/// A pool on the database at `url`.
pub(super) async fn open<S: Shelf>(url: &str) -> Result<Pool<S>> {
    Ok(PoolOptions::new().max_connections(4).acquire_timeout(Duration::from_secs(20)).connect(url).await?)
}

/// The same, with all tables.
pub(super) async fn furnished<S: Shelf>(url: &str) -> Result<Pool<S>> {
    let pool = open::<S>(url).await?;
    evenkeel::sql::migrate(&pool).await?;
    let mut connection = pool.acquire().await?;
    S::run_test_script(&mut connection, "CREATE TABLE shelf (amount BIGINT NOT NULL)").await?;
    S::run_test_script(&mut connection, "INSERT INTO shelf (amount) VALUES (0)").await?;
    drop(connection);
    Ok(pool)
}
