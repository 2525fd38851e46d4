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

#[path = "stories/again.rs"]
mod again;
#[path = "stories/attacked.rs"]
mod attacked;
#[path = "stories/json.rs"]
mod json;
#[path = "stories/killed.rs"]
mod killed;
#[path = "stories/latin1.rs"]
mod latin1;
#[path = "stories/loops.rs"]
mod loops;
#[path = "stories/operate.rs"]
mod operate;
#[path = "stories/order.rs"]
mod order;
#[path = "stories/outage.rs"]
mod outage;
#[path = "stories/robustness/mod.rs"]
pub(super) mod robustness;
#[path = "stage.rs"]
mod stage;
#[path = "stories/trouble.rs"]
mod trouble;
#[path = "stories/wake.rs"]
mod wake;
