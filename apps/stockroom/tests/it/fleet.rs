//! Instances that start at the same time on one database, empty or older. Some of them are killed.

use anyhow::{Context, Result};
use evenkeel::clock::Clock;
use sqlx::migrate::Migrator;
use sqlx::{MySqlPool, PgPool, SqlitePool};
use std::path::{Path, PathBuf};
use stockroom::domain::ProductName;
use stockroom::store::Store;
use testkit::fleet::{SchemaOwner, killed_at_random, started_at_once};

struct Stockroom;

impl SchemaOwner for Stockroom {
    const OLDER_LIBRARY: usize = 3;

    fn program(&self) -> PathBuf {
        env!("CARGO_BIN_EXE_stockroom").into()
    }

    /// The service's schema is the current one; only the library's tables are older.
    async fn create_older(&self, url: &str) -> Result<()> {
        let kind = url.split_once(':').context("no scheme")?.0;
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(kind);
        let mut migrator = Migrator::new(folder).await?;
        migrator.dangerous_set_table_name("stock_migrations");
        match kind {
            "sqlite" => migrator.run(&SqlitePool::connect(url).await?).await?,
            "mysql" => migrator.run(&MySqlPool::connect(url).await?).await?,
            _ => migrator.run(&PgPool::connect(url).await?).await?,
        }
        Ok(())
    }

    async fn check(&self, url: &str, _is_older: bool) -> Result<()> {
        let store = Store::open(&url.parse()?, Clock::system()).await?;
        store.add_product(&ProductName::parse("tea")?).await?;
        store.close().await;
        Ok(())
    }
}

// shows: hazard S1
#[tokio::test]
async fn mariadb_instances_started_at_once_make_the_tables() -> Result<()> {
    started_at_once(&Stockroom, "mariadb", false).await?;
    started_at_once(&Stockroom, "mariadb", true).await
}

// shows: hazard S1
#[tokio::test]
async fn postgres_instances_started_at_once_make_the_tables() -> Result<()> {
    started_at_once(&Stockroom, "postgres", false).await?;
    started_at_once(&Stockroom, "postgres", true).await
}

// shows: hazard S8
#[tokio::test]
async fn sqlite_instances_killed_at_random_leave_one_schema() -> Result<()> {
    killed_at_random(&Stockroom, "sqlite", 0..2).await
}

// shows: U5, hazard S8
#[tokio::test]
async fn mariadb_instances_killed_at_random_leave_one_schema() -> Result<()> {
    killed_at_random(&Stockroom, "mariadb", 0..2).await
}

// shows: U5, hazard S8
#[tokio::test]
async fn postgres_instances_killed_at_random_leave_one_schema() -> Result<()> {
    killed_at_random(&Stockroom, "postgres", 0..2).await
}

#[tokio::test]
#[ignore = "twenty rounds, with five kills each"]
async fn sqlite_instances_killed_a_hundred_times_leave_one_schema() -> Result<()> {
    killed_at_random(&Stockroom, "sqlite", 100..120).await
}

#[tokio::test]
#[ignore = "twenty rounds, with five kills each"]
async fn mariadb_instances_killed_a_hundred_times_leave_one_schema() -> Result<()> {
    killed_at_random(&Stockroom, "mariadb", 100..120).await
}

#[tokio::test]
#[ignore = "twenty rounds, with five kills each"]
async fn postgres_instances_killed_a_hundred_times_leave_one_schema() -> Result<()> {
    killed_at_random(&Stockroom, "postgres", 100..120).await
}
