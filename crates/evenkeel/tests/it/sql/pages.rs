//! Pages by due time read only their rows from an index, however large the table is.

use super::databases::TestDatabase;
use evenkeel::Keel;
use evenkeel::queue::Queue;
use evenkeel::queue::topic::{JobState as Among, Topic};
use evenkeel::sql::Database;
use evenkeel::testing::page_by_due;
use evenkeel_protocol::queue::steps::Listed;
use sqlx::pool::PoolOptions;
use sqlx::{AssertSqlSafe, MySql, Pool, Postgres, Row, Sqlite};
use std::time::Duration;
use testkit::park;

const JOBS: u32 = 2_000;
const PAGE: usize = 10;

/// Rows alone: all of them are beyond the horizon.
async fn many<DB: Database>(pool: &Pool<DB>) -> Topic {
    let hour = Duration::from_secs(3_600);
    let queue: Queue<u32> = Keel::memory().queue("paged").sql(pool).horizon(hour).open().await.unwrap();
    for part in 0..JOBS / 500 {
        let jobs = (0..500).map(|number| queue.job(&number).delay((1 + part) * 24 * hour));
        queue.enqueue_all(jobs).await.unwrap();
    }
    queue.topic()
}

/// The place in the middle, among rows of the same time.
async fn middle(topic: &Topic) -> Listed {
    let mut after = None;
    let mut left = JOBS as usize / 2 + 100;
    while left > 0 {
        let page = topic.list(Among::Waiting, after, left.min(300)).await.unwrap();
        left -= page.len();
        after = page.last().copied();
    }
    after.unwrap()
}

/// The statement for such a page, with its values, for the database to explain.
fn explained<DB: Database>(explain: &str, after: Listed, id: &str) -> String {
    let values = ["'paged'", "0", &after.score.to_string(), id, &PAGE.to_string()];
    let mut text = format!("{explain} {}", page_by_due::<DB>());
    for (at, value) in values.iter().enumerate() {
        let mark = format!("${}", at + 1);
        text = if text.contains(&mark) { text.replace(&mark, value) } else { text.replacen('?', value, 1) };
    }
    text
}

// shows: hazard F4f
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn page_by_due_time_reads_its_index_sqlite() {
    let place = TestDatabase::<Sqlite>::open().await;
    let topic = many(&place.pool).await;
    let after = middle(&topic).await;
    let text = explained::<Sqlite>("EXPLAIN QUERY PLAN", after, &format!("x'{}'", after.id));
    let rows = sqlx::raw_sql(AssertSqlSafe(text)).fetch_all(&place.pool).await.unwrap();
    let plan: String = rows.iter().map(|row| row.get::<String, _>(3)).collect();
    assert!(plan.contains("USING INDEX evenkeel_jobs_due (topic=? AND dead=? AND (due_at,job)>(?,?))"), "{plan}");
    assert!(!plan.contains("TEMP B-TREE"), "it sorts nothing: {plan}");
}

// shows: hazard F4f, queue::Topic::list, queue::Topic::peek
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn page_by_due_time_reads_its_index_postgres() {
    let place = TestDatabase::<Postgres>::open().await;
    let topic = many(&place.pool).await;
    place.run("ANALYZE evenkeel_jobs").await;
    let after = middle(&topic).await;
    let text = explained::<Postgres>("EXPLAIN", after, &format!("'\\x{}'::bytea", after.id));
    let rows = sqlx::raw_sql(AssertSqlSafe(text)).fetch_all(&place.pool).await.unwrap();
    let plan: String = rows.iter().map(|row| row.get::<String, _>(0)).collect();
    assert!(plan.contains("Index Scan using evenkeel_jobs_due") && plan.contains("ROW(due_at, job) > ROW"), "{plan}");
    assert!(!plan.contains("Sort") && !plan.contains("Filter"), "it reads nothing else: {plan}");
}

// shows: hazard F4f
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn page_by_due_time_reads_its_index_mariadb() {
    let database = park::mariadb_database().await.unwrap();
    let pool: Pool<MySql> = PoolOptions::new().max_connections(1).connect(&database.url).await.unwrap();
    evenkeel::sql::migrate(&pool).await.unwrap();
    let topic = many(&pool).await;
    let after = middle(&topic).await;
    let before = read_so_far(&pool).await;
    let page = topic.list(Among::Waiting, Some(after), PAGE).await.unwrap();
    let read = read_so_far(&pool).await - before;
    assert_eq!(page.len(), PAGE);
    assert!(read < 100, "{read} rows were read for a page of {PAGE}");
}

/// How many rows the only connection of a pool has read, as the server counts them.
async fn read_so_far(pool: &Pool<MySql>) -> u64 {
    let rows = sqlx::raw_sql("SHOW SESSION STATUS LIKE 'Handler_read%'").fetch_all(pool).await.unwrap();
    rows.iter().map(|row| row.get::<String, _>(1).parse::<u64>().unwrap()).sum()
}
