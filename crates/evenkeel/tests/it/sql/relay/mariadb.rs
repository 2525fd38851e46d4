//! The relay on MariaDB.

use super::recorder;
use testkit::park::{Database, mariadb_database};

type Db = sqlx::MySql;

/// Any number of writers.
const WRITERS: bool = true;

fn own_database() -> impl Future<Output = anyhow::Result<Database>> {
    mariadb_database()
}

async fn pool(url: &str) -> sqlx::MySqlPool {
    sqlx::MySqlPool::connect(url).await.unwrap()
}

fn blob(digits: &str) -> String {
    format!("x'{digits}'")
}

#[path = "again.rs"]
mod again;
#[path = "attacked.rs"]
mod attacked;
#[path = "gaps.rs"]
mod gaps;
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
#[path = "reads.rs"]
mod reads;
#[path = "stage.rs"]
mod stage;
#[path = "trouble.rs"]
mod trouble;
