//! Tables that an older version of the library made, with rows in them.

use crate::sql::rig::{Rig, Sql};
use evenkeel::queue::Queue;
use evenkeel::sql::migrate;
use sqlx::{MySql, Postgres, Sqlite};
use std::time::Duration;

/// Before `0008_attempts`.
const COLUMNS: [&str; 4] = ["errors", "failure", "dead", "redriven"];

/// Jobs that were sent before are jobs without failures.
async fn jobs_before_attempts_are_upgraded<DB: Sql>(rig: Rig<DB>, drop_index: &str) {
    let queue: Queue<u32> = rig.keel.queue("older").sql(&rig.pool).open().await.unwrap();
    let id = queue.delay(Duration::from_secs(3_600), &1).await.unwrap();
    let mut connection = rig.pool.acquire().await.unwrap();
    DB::run(&mut connection, drop_index).await.unwrap();
    for column in COLUMNS {
        DB::run(&mut connection, &format!("ALTER TABLE evenkeel_jobs DROP COLUMN {column}")).await.unwrap();
    }
    DB::run(&mut connection, "DELETE FROM evenkeel_migrations WHERE version = 8").await.unwrap();
    drop(connection);
    migrate(&rig.pool).await.unwrap();
    let plain = "SELECT COUNT(*) FROM evenkeel_jobs WHERE errors = 0 AND dead = 0 AND redriven = 0 AND failure IS NULL";
    assert_eq!(rig.number(plain).await, 1);
    let listed = queue.topic().list(evenkeel::queue::topic::JobState::Waiting, None, 10).await.unwrap();
    assert_eq!(listed.iter().map(|listed| listed.id).collect::<Vec<_>>(), [id]);
}

#[tokio::test]
async fn jobs_before_attempts_are_upgraded_sqlite() {
    jobs_before_attempts_are_upgraded(Rig::<Sqlite>::open().await, "DROP INDEX evenkeel_jobs_due").await;
}

#[tokio::test]
async fn jobs_before_attempts_are_upgraded_mariadb() {
    let drop_index = "ALTER TABLE evenkeel_jobs DROP INDEX evenkeel_jobs_due";
    jobs_before_attempts_are_upgraded(Rig::<MySql>::open().await, drop_index).await;
}

#[tokio::test]
async fn jobs_before_attempts_are_upgraded_postgres() {
    jobs_before_attempts_are_upgraded(Rig::<Postgres>::open().await, "DROP INDEX evenkeel_jobs_due").await;
}
