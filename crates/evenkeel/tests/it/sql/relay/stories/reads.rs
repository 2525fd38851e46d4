//! What a relay's pass costs the database, on MySQL and MariaDB, which count their reads.

use super::{own_database, recorder::Recorder};
use evenkeel::Keel;
use evenkeel::sql::migrate;
use evenkeel::sql::sink::Sinks;
use sqlx::Row;
use sqlx::mysql::{MySqlPool, MySqlPoolOptions};

/// Works that wait, for a time that does not come.
const WAITING: i64 = 900;

/// What the one connection of this pool has read from tables so far.
async fn read_so_far(pool: &MySqlPool) -> i64 {
    let counters = sqlx::raw_sql("SHOW SESSION STATUS LIKE 'Handler_read%'").fetch_all(pool).await.unwrap();
    counters.iter().map(|counter| counter.get::<String, _>(1).parse::<i64>().unwrap()).sum()
}

/// The earliest of the waiting rows was searched among all of them, in every pass: with a million of them a relay carried
/// out a fifth of its capacity.
#[tokio::test]
async fn relay_pass_reads_few_rows_with_a_large_backlog() {
    let database = own_database().await.unwrap();
    let pool = MySqlPoolOptions::new().max_connections(1).connect(&database.url).await.unwrap();
    migrate(&pool).await.unwrap();
    let numbers =
        format!("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {WAITING}) SELECT");
    let late = 9_000_000_000_000_000_i64;
    for insert in [
        format!(
            "INSERT INTO evenkeel_outbox (id, state, attempts, due_at, created_at) \
             {numbers} UNHEX(LPAD(HEX(i), 32, '0')), 1, 0, {late}, 1 FROM n"
        ),
        format!(
            "INSERT INTO evenkeel_outbox_keys (topic, message_key, last_sequence, due_at) {numbers} 't', i, 1, {late} FROM n"
        ),
    ] {
        sqlx::raw_sql(sqlx::AssertSqlSafe(insert)).execute(&pool).await.unwrap();
    }
    let relay = Keel::memory().relay(&pool).sinks(Sinks::to(Recorder::new()));
    relay.run_once().await.unwrap();
    let before = read_so_far(&pool).await;
    let asking = read_so_far(&pool).await - before;
    let before = read_so_far(&pool).await;
    relay.run_once().await.unwrap();
    let read = read_so_far(&pool).await - before - asking;
    assert!(read < WAITING / 10, "a look that finds nothing due read {read} entries");
}
