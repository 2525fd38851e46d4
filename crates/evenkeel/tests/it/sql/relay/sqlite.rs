//! The relay on SQLite.

use super::recorder;
use testkit::park::{Database, sqlite_database};

type Db = sqlx::Sqlite;

/// One writer at a time.
const WRITERS: bool = false;

fn own_database() -> impl Future<Output = anyhow::Result<Database>> {
    std::future::ready(sqlite_database())
}

async fn pool(url: &str) -> sqlx::SqlitePool {
    let options: sqlx::sqlite::SqliteConnectOptions = url.parse().unwrap();
    let options =
        options.journal_mode(sqlx::sqlite::SqliteJournalMode::Wal).busy_timeout(std::time::Duration::from_secs(30));
    sqlx::SqlitePool::connect_with(options).await.unwrap()
}

fn blob(digits: &str) -> String {
    format!("x'{digits}'")
}

#[path = "stories/again.rs"]
mod again;
#[path = "stories/attacked.rs"]
mod attacked;
#[path = "stories/json.rs"]
mod json;
#[path = "stories/killed.rs"]
mod killed;
#[path = "stories/logged.rs"]
mod logged;
#[path = "stories/loops.rs"]
mod loops;
#[path = "stories/operate.rs"]
mod operate;
#[path = "stories/order.rs"]
mod order;
#[path = "stories/outage.rs"]
mod outage;
#[path = "stories/rejected.rs"]
mod rejected;
#[path = "stories/robustness/mod.rs"]
pub(super) mod robustness;
#[path = "stage.rs"]
mod stage;
#[path = "stories/trouble.rs"]
mod trouble;
