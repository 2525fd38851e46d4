//! `evenkeel outbox` against an outbox in SQLite. The library's tests run the statements on every database.

use crate::program::{Ran, evenkeel, evenkeel_async};
use serde_json::Value;
use sqlx::AssertSqlSafe;
use testkit::park::{Database, mariadb_database, sqlite_database};

/// An outbox with a parked unit of work, a parked key, and a completed unit of work.
pub(crate) async fn outbox() -> (Database, sqlx::SqlitePool) {
    let database = sqlite_database().unwrap();
    let pool = sqlx::SqlitePool::connect(&database.url).await.unwrap();
    evenkeel::sql::migrate(&pool).await.unwrap();
    let work = |number: u8, state: u8, due_at: &str| {
        format!(
            "INSERT INTO evenkeel_outbox (id, state, effects, attempts, created_at, settled_at, due_at, error) \
             VALUES (x'000000000000700080000000000000{number:02x}', {state}, x'01', 20, 1, 1, {due_at}, 'no route')"
        )
    };
    let key = "INSERT INTO evenkeel_outbox_keys \
               (topic, message_key, last_sequence, sent_sequence, due_at, attempts, parked_at, error) \
               VALUES ('links', 'a', 5, 3, 9000000000000000, 20, 1, 'too large')";
    for text in [work(1, 4, "9000000000000000"), work(2, 2, "NULL"), key.to_owned()] {
        sqlx::raw_sql(AssertSqlSafe(text)).execute(&pool).await.unwrap();
    }
    (database, pool)
}

async fn run(database: &Database, arguments: &[&str]) -> Ran {
    evenkeel_async(&[&["outbox", "--database", &database.url], arguments].concat()).await
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|_| unreachable!("{}{}", ran.out, ran.err))
}

const WORK: &str = "00000000-0000-7000-8000-000000000001";

// shows: U4, hazard S14, hazard CL26
#[tokio::test]
async fn parked_entries_are_listed_and_released() {
    let (database, _pool) = outbox().await;
    let parked = run(&database, &["park", "ls"]).await;
    assert_eq!(parked.code, 1, "something is parked: {}{}", parked.out, parked.err);
    for text in [WORK, "no route", "links", "too large"] {
        assert!(parked.out.contains(text), "{text}: {}", parked.out);
    }
    let stats = json(&run(&database, &["stats", "--json"]).await);
    assert_eq!((&stats["works"]["parked"], &stats["keys"]["parked"]), (&Value::from(1), &Value::from(1)));

    let undecided = run(&database, &["release", WORK]).await;
    assert_eq!((undecided.code, undecided.err.contains("--resend")), (2, true), "{}", undecided.err);
    assert_eq!(run(&database, &["release", WORK, "--resend"]).await.code, 0);
    assert_eq!(run(&database, &["release", WORK, "--resend"]).await.code, 1, "no longer parked");
    let skip = ["release", "--topic", "links", "--key", "a", "--skip"];
    let unconfirmed = run(&database, &skip).await;
    assert_eq!((unconfirmed.code, unconfirmed.err.contains("add --confirm links")), (2, true), "{}", unconfirmed.err);
    let skipped = run(&database, &[&skip[..], &["--confirm", "links"]].concat()).await;
    assert_eq!((skipped.code, skipped.out.as_str()), (0, "links a: skipped\n"));
    let waiting = json(&run(&database, &["ls", "--json"]).await);
    assert_eq!((&waiting["works"][0]["id"], &waiting["keys"][0]["sent"]), (&Value::from(WORK), &Value::from(4)));
    let empty = run(&database, &["park", "ls"]).await;
    assert_eq!((empty.code, empty.out.as_str()), (0, "no unit of work is parked\n\nno key is parked\n"));
}

/// The topic of a unit of work has no sink in any relay: the command line shows it before the unit is parked.
// shows: hazard A11
#[tokio::test]
async fn units_of_work_without_a_sink_are_shown() {
    let (database, pool) = outbox().await;
    let routed = run(&database, &["stats"]).await;
    assert!(!routed.out.contains("without sink"), "{}", routed.out);
    let waits = "UPDATE evenkeel_outbox SET state = 1, error = 'no sink of this program accepts the topic `absent`' \
                 WHERE state = 4";
    sqlx::raw_sql(waits).execute(&pool).await.unwrap();
    let stats = run(&database, &["stats"]).await;
    assert!(stats.out.contains("without sink     1 units of work"), "{}", stats.out);
    assert_eq!(json(&run(&database, &["stats", "--json"]).await)["unrouted"], 1);
    let listed = run(&database, &["ls"]).await;
    assert!(listed.out.contains("no sink of this program accepts the topic"), "{}", listed.out);
}

// shows: hazard T24
#[tokio::test]
async fn purge_requires_confirmation() {
    let (database, _pool) = outbox().await;
    let unconfirmed = run(&database, &["purge", "--older", "1h"]).await;
    assert_eq!((unconfirmed.code, unconfirmed.err.contains("add --confirm")), (2, true), "{}", unconfirmed.err);
    // It was accepted, and rows of ten minutes or more were deleted.
    for young in ["9m", "0s"] {
        let refused = run(&database, &["purge", "--older", young, "--confirm"]).await;
        assert_eq!((refused.code, refused.err.contains("use 10m or more")), (2, true), "{}", refused.err);
    }
    let purged = json(&run(&database, &["purge", "--older", "1h", "--confirm", "--json"]).await);
    assert_eq!(purged["deleted"], 1);
    assert_eq!(json(&run(&database, &["stats", "--json"]).await)["works"]["done"], 0);
}

// shows: hazard S9
#[tokio::test]
async fn mariadb_error_at_the_connection_is_printed_once() {
    let database = mariadb_database().await.unwrap();
    let (server, _) = database.url.rsplit_once('/').unwrap();
    let ran = evenkeel_async(&["outbox", "--database", &format!("{server}/there_is_none"), "ls"]).await;
    assert_eq!((ran.code, ran.err.matches("Unknown database").count()), (2, 1), "{}", ran.err);
}

#[tokio::test]
async fn missing_outbox_is_a_one_line_error() {
    let database = sqlite_database().unwrap();
    sqlx::SqlitePool::connect(&database.url).await.unwrap();
    let ran = run(&database, &["stats"]).await;
    assert_eq!((ran.code, ran.err.lines().count(), ran.err.contains("migrate")), (2, 1, true), "{}", ran.err);
    let wrong = evenkeel(&["outbox", "--database", "redis://localhost", "ls"]);
    assert_eq!((wrong.code, wrong.err.contains("not a database address")), (2, true));
}

/// A command of another version changed rows whose meaning it does not know.
// shows: hazard PO3
#[tokio::test]
async fn commands_write_only_to_the_schema_that_they_know() {
    let (database, pool) = outbox().await;
    let newer = "INSERT INTO evenkeel_migrations (version, name, run_at) VALUES (1000, 'from the future', 0)";
    for (change, reason) in [
        (newer, "update this program"),
        ("DELETE FROM evenkeel_migrations WHERE version IN (10, 1000)", "lacks migration 10"),
        ("DELETE FROM evenkeel_migrations", "lacks migration 1;"),
    ] {
        sqlx::raw_sql(change).execute(&pool).await.unwrap();
        let inbox = ["inbox", "--database", &database.url, "release", "a", "b", "--skip", "--confirm", "a"];
        for ran in [
            run(&database, &["release", WORK, "--skip", "--confirm", "00000000"]).await,
            run(&database, &["release", "--topic", "links", "--key", "a", "--resend"]).await,
            run(&database, &["retry"]).await,
            run(&database, &["purge", "--older", "1h", "--confirm"]).await,
            evenkeel_async(&inbox).await,
        ] {
            assert_eq!(
                (ran.code, ran.err.contains(reason), ran.err.lines().count()),
                (2, true, 1),
                "{reason}: {}",
                ran.err
            );
        }
        let doctor = evenkeel_async(&["doctor", &database.url]).await;
        let line = doctor.out.lines().find(|line| line.contains("  schema  ")).unwrap();
        assert!(!line.starts_with("  ok") && line.contains(reason), "{line}");
    }
    let stats = json(&run(&database, &["stats", "--json"]).await);
    assert_eq!(
        (&stats["works"]["parked"], &stats["keys"]["parked"]),
        (&Value::from(1), &Value::from(1)),
        "nothing changed"
    );
}
