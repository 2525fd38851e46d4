//! The relay on PostgreSQL.

use super::recorder;
use testkit::park::{Database, postgres_database};

type Db = sqlx::Postgres;

/// Any number of writers.
const WRITERS: bool = true;

fn own_database() -> impl Future<Output = anyhow::Result<Database>> {
    postgres_database()
}

async fn pool(url: &str) -> sqlx::PgPool {
    sqlx::PgPool::connect(url).await.unwrap()
}

fn blob(digits: &str) -> String {
    format!("'\\x{digits}'::bytea")
}

#[path = "again.rs"]
mod again;
#[path = "attacked.rs"]
mod attacked;
#[path = "killed.rs"]
mod killed;
#[path = "lanes.rs"]
mod lanes;
#[path = "operate.rs"]
mod operate;
#[path = "order.rs"]
mod order;
#[path = "outage.rs"]
mod outage;
#[path = "stage.rs"]
mod stage;
#[path = "trouble.rs"]
mod trouble;
#[path = "wake.rs"]
mod wake;
