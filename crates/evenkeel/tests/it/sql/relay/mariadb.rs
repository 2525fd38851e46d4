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

#[path = "stories/again.rs"]
mod again;
#[path = "stories/attacked.rs"]
mod attacked;
#[path = "stories/gaps.rs"]
mod gaps;
#[path = "stories/json.rs"]
mod json;
#[path = "stories/killed.rs"]
mod killed;
#[path = "stories/loops.rs"]
mod loops;
#[path = "stories/operate.rs"]
mod operate;
#[path = "stories/order.rs"]
mod order;
#[path = "stories/outage.rs"]
mod outage;
#[path = "stories/reads.rs"]
mod reads;
#[path = "stories/robustness/mod.rs"]
pub(super) mod robustness;
#[path = "stories/settings.rs"]
mod settings;
#[path = "stage.rs"]
mod stage;
#[path = "stories/trouble.rs"]
mod trouble;
