//! Changes that plain SQL makes, found by polling a column that grows, on each database.

use crate::rig::{Calls, in_time};
use evenkeel::Keel;
use evenkeel::cdc::source::{Event, Poll, Source, StartAt, Value};
use evenkeel::sql::{Database, migrate};
use sqlx::{MySql, Pool, Postgres, Sqlite, SqlitePool};
use std::time::Duration;
use testkit::park;

const TABLE: &str = "CREATE TABLE goods (id INTEGER PRIMARY KEY, name VARCHAR(20), version BIGINT NOT NULL)";

/// The rows that a source returns until it is idle, as `id:name`.
async fn found(source: &mut Poll) -> Vec<String> {
    let mut found = Vec::new();
    loop {
        for event in source.next().await.unwrap() {
            match event {
                Event::Idle { .. } => return found,
                Event::Change(change) => {
                    let row = change.after.unwrap();
                    let shown = |column| match row.get(column) {
                        Some(Value::Text(text)) => text.clone(),
                        other => format!("{other:?}"),
                    };
                    found.push(format!("{}:{}", shown("id"), shown("name")));
                }
                _ => {}
            }
        }
    }
}

macro_rules! stories {
    ($module:ident, $database:ty, $open:expr) => {
        mod $module {
            use super::*;

            async fn run(pool: &Pool<$database>, sql: &'static str) {
                sqlx::raw_sql(sql).execute(pool).await.unwrap();
            }

            // shows: hazard CD11, cdc::Poll
            #[tokio::test]
            async fn poll_returns_each_row_whose_version_has_grown() {
                in_time(async {
                    let (_database, pool) = $open;
                    run(&pool, TABLE).await;
                    run(&pool, "INSERT INTO goods VALUES (1, 'tea', 1)").await;
                    let mut source = Poll::new(&pool, "goods", "version", 10, ["id", "name"]);
                    source.start(StartAt::End { epoch: 1 }).await.unwrap();
                    found(&mut source).await; // the overlap before the start may come again
                    run(&pool, "INSERT INTO goods VALUES (2, NULL, 2), (3, 'cup', 2)").await;
                    run(&pool, "UPDATE goods SET name = 'mug', version = 3 WHERE id = 1").await;
                    let mut rows = found(&mut source).await;
                    rows.sort();
                    assert_eq!(rows, ["1:mug", "2:Some(Null)", "3:cup"]);
                    assert_eq!(found(&mut source).await, [""; 0], "rows of the overlap are not returned again");
                    // Its transaction took the version before and commits after.
                    run(&pool, "INSERT INTO goods VALUES (4, 'late', 1)").await;
                    assert_eq!(found(&mut source).await, ["4:late"]);
                })
                .await;
            }

            /// NULL is the highest value of PostgreSQL's order: the end of the table was read from such a row, for ever without success.
            // shows: hazard CD12, cdc::Poll
            #[tokio::test]
            async fn row_without_a_version_does_not_hide_the_end() {
                in_time(async {
                    let (_database, pool) = $open;
                    run(&pool, "CREATE TABLE notes (id INTEGER PRIMARY KEY, version BIGINT)").await;
                    run(&pool, "INSERT INTO notes VALUES (1, NULL), (2, 8)").await;
                    let mut source = Poll::new(&pool, "notes", "version", 0, ["id"]);
                    assert_eq!(source.start(StartAt::End { epoch: 1 }).await.unwrap().position.text, "8");
                })
                .await;
            }

            // shows: hazard CD10, cdc::Poll
            #[tokio::test]
            async fn poll_returns_more_rows_of_one_version_than_a_page() {
                in_time(async {
                    let (_database, pool) = $open;
                    run(&pool, TABLE).await;
                    let mut source = Poll::new(&pool, "goods", "version", 0, ["id"]);
                    source.start(StartAt::End { epoch: 1 }).await.unwrap();
                    for version in [5, 6] {
                        let rows: Vec<String> =
                            (0..1_500).map(|row| format!("({}, {version})", version * 10_000 + row)).collect();
                        let text = format!("INSERT INTO goods (id, version) VALUES {}", rows.join(", "));
                        sqlx::raw_sql(sqlx::AssertSqlSafe(text)).execute(&pool).await.unwrap();
                    }
                    let mut rows = found(&mut source).await;
                    rows.sort();
                    rows.dedup();
                    assert_eq!(rows.len(), 3_000);
                })
                .await;
            }

            // shows: D2
            #[tokio::test]
            async fn polled_change_reaches_a_function_after_a_restart() {
                in_time(async {
                    let (_database, pool) = $open;
                    migrate(&pool).await.unwrap();
                    run(&pool, TABLE).await;
                    let (keel, calls) = (Keel::memory(), Calls::default());
                    let capture = || {
                        let calls = calls.clone();
                        let source = Poll::new(&pool, "goods", "version", 0, ["id"]).every(Duration::from_millis(1));
                        keel.cdc("goods", &pool, source)
                            .table("goods", |rule| rule.call("calls", move |changed| calls.note(changed)).key("id"))
                    };
                    capture().run(until_at(&keel, &pool, "0")).await.unwrap();
                    run(&pool, "INSERT INTO goods VALUES (7, 'tea', 70)").await;
                    capture().run(until_at(&keel, &pool, "70")).await.unwrap();
                    run(&pool, "UPDATE goods SET version = 71").await;
                    capture().run(until_at(&keel, &pool, "71")).await.unwrap();
                    assert_eq!(calls.ids(), [7, 7]);
                })
                .await;
            }

            // shows: D8
            #[tokio::test]
            async fn one_of_two_processes_becomes_the_reader() {
                in_time(async {
                    let (_database, pool) = $open;
                    migrate(&pool).await.unwrap();
                    run(&pool, TABLE).await;
                    let keel = Keel::memory();
                    let capture = || {
                        let source = Poll::new(&pool, "goods", "version", 0, ["id"]).every(Duration::from_millis(1));
                        let call = |_| async { Ok::<_, std::io::Error>(()) };
                        keel.cdc("goods", &pool, source).table("goods", |rule| rule.call("calls", call).key("id"))
                    };
                    let (one, other) = tokio::join!(
                        capture().run(until_at(&keel, &pool, "0")),
                        capture().run(until_at(&keel, &pool, "0"))
                    );
                    assert!(one.is_ok() && other.is_ok());
                    let status = keel.cdc_admin("goods", &pool).status().await.unwrap().unwrap();
                    assert_eq!(status.fence, 1, "the other one never was");
                })
                .await;
            }
        }
    };
}

/// Until the checkpoint is at this position.
async fn until_at<DB: Database>(keel: &Keel, pool: &Pool<DB>, position: &str) {
    let admin = keel.cdc_admin("goods", pool);
    while admin.status().await.unwrap().and_then(|status| status.position).as_deref() != Some(position) {
        tokio::task::yield_now().await;
    }
}

stories!(sqlite, Sqlite, {
    let database = park::sqlite_database().unwrap();
    let pool = SqlitePool::connect(&database.url).await.unwrap();
    (database, pool)
});
stories!(mariadb, MySql, {
    let database = park::mariadb_database().await.unwrap();
    let pool = Pool::<MySql>::connect(&database.url).await.unwrap();
    (database, pool)
});
stories!(postgres, Postgres, {
    let database = park::postgres_database().await.unwrap();
    let pool = Pool::<Postgres>::connect(&database.url).await.unwrap();
    (database, pool)
});
