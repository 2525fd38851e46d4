//! `evenkeel inbox` against an inbox in SQLite.

use crate::program::{Ran, evenkeel_async};
use testkit::park::{Database, sqlite_database};

async fn run(database: &Database, arguments: &[&str]) -> Ran {
    evenkeel_async(&[&["inbox", "--database", &database.url], arguments].concat()).await
}

// shows: hazard CL26
#[tokio::test]
async fn parked_messages_are_listed_and_released() {
    let database = sqlite_database().unwrap();
    let pool = sqlx::SqlitePool::connect(&database.url).await.unwrap();
    evenkeel::sql::migrate(&pool).await.unwrap();
    let rows = "INSERT INTO evenkeel_inbox (consumer_group, message_id, state, seen_at, met) VALUES \
                ('accounts', x'7061796d656e742f37', 2, 1, 3), ('accounts', x'ff00', 2, 2, 1), ('accounts', x'7365656e', 1, 3, 1)";
    sqlx::raw_sql(rows).execute(&pool).await.unwrap();

    let listed = run(&database, &["--json", "ls"]).await;
    assert_eq!(listed.code, 1, "something is parked: {}", listed.err);
    let listed: serde_json::Value = serde_json::from_str(&listed.out).unwrap();
    let parked = listed["parked"].as_array().unwrap();
    let names: Vec<_> =
        parked.iter().map(|parked| (parked["message"].as_str().unwrap(), parked["met"].as_u64().unwrap())).collect();
    assert_eq!(names, [("payment/7", 3), ("0xff00", 1)]);

    let undecided = run(&database, &["release", "accounts", "payment/7"]).await;
    assert_eq!((undecided.code, undecided.err.contains("--run")), (2, true), "{}", undecided.err);
    let ran = run(&database, &["release", "accounts", "payment/7", "--run"]).await;
    assert_eq!((ran.code, ran.out.as_str()), (0, "accounts payment/7: released: runs at its next delivery\n"));
    assert_eq!(run(&database, &["release", "accounts", "payment/7", "--run"]).await.code, 1, "once");
    let skip = ["release", "accounts", "0xff00", "--skip"];
    let unconfirmed = run(&database, &skip).await;
    assert_eq!(
        (unconfirmed.code, unconfirmed.err.contains("add --confirm accounts")),
        (2, true),
        "{}",
        unconfirmed.err
    );
    assert_eq!(run(&database, &[&skip[..], &["--confirm", "accounts"]].concat()).await.code, 0);
    let empty = run(&database, &["ls"]).await;
    assert_eq!((empty.code, empty.out.as_str()), (0, "no message is parked\n"));
    let states: Vec<i64> = sqlx::query_scalar("SELECT state FROM evenkeel_inbox ORDER BY seen_at DESC, met")
        .fetch_all(&pool)
        .await
        .unwrap();
    assert_eq!(states.iter().filter(|state| **state == 3).count(), 1, "{states:?}");
}
