//! Vectors of the effects that programs in other languages insert as JSON: what a relay does with each row, one after the other.

use super::{KEY_TEXTS, check, hex, shown, vector};
use evenkeel::Keel;
use evenkeel::queue::{Found, JobId, Queue};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::time::Duration;
use testkit::park::sqlite_database;

const JOB: &str = "welcome/42";

/// A row's state when its effects are carried out.
const DONE: i64 = 2;

const ROWS: [&str; 13] = [
    "[]",
    r#"[{"invalidate": {"cache": "user", "key": "42"}}, {"invalidate": {"cache": "user", "key": 42, "version": "7", "purge": true}}]"#,
    r#"[{"enqueue": {"topic": "mail", "id": "welcome/42", "delay_ms": 300000, "body": {"user": 42,  "large": 12345678901234567890123}}}]"#,
    r#"[{"enqueue": {"topic": "mail", "id": "welcome/42", "body_base64": "eyJ1c2VyIjo0M30="}}]"#,
    r#"[{"revoke": {"topic": "mail", "id": "welcome/42"}}]"#,
    r#"{"revoke": {"topic": "mail", "id": "welcome/42"}}"#,
    r#"[{"launch": {}}]"#,
    r#"[{"revoke": {"topic": "mail"}}]"#,
    r#"[{"enqueue": {"topic": "mail", "body": 1, "delay_ms": 1, "due_at": 1}}]"#,
    r#"[{"enqueue": {"topic": "mail", "body": 1, "delay_ms": -1}}]"#,
    r#"[{"invalidate": {"cache": "user", "key": ""}}]"#,
    r#"[{"publish": {"topic": "users", "payload": 1, "key": "7"}}]"#,
    r#"[{"publish": {"topic": "users"}}]"#,
];

#[tokio::test]
async fn golden_vectors_of_effects_are_what_a_relay_does() {
    let (keel, database) = (Keel::memory(), sqlite_database().unwrap());
    let pool = sqlx::SqlitePool::connect(&database.url).await.unwrap();
    evenkeel::sql::migrate(&pool).await.unwrap();
    let mail = keel.queue::<Value>("mail").open().await.unwrap();
    let relay = keel.relay(&pool);
    let mut vectors = Vec::new();
    for effects in ROWS {
        let insert = "INSERT INTO evenkeel_outbox_json (effects) VALUES ($1)";
        sqlx::query(insert).bind(effects).execute(&pool).await.unwrap();
        // The first pass moves the row, at the latest the second one carries it out.
        for _ in 0..2 {
            relay.run_once().await.unwrap();
        }
        // The text of the error is for people and may change.
        let moved = "SELECT state, error FROM evenkeel_outbox";
        let (state, error): (i64, Option<String>) = sqlx::query_as(moved).fetch_one(&pool).await.unwrap();
        let outcome = if state == DONE { "carried out" } else { "parked" };
        assert_eq!(error.is_some(), outcome == "parked", "{effects}");
        let expect = json!({ "outcome": outcome, "job": job(&mail).await });
        vectors.push(vector(&format!("effects {effects}"), json!({ "effects": effects, "id_of_job": JOB }), expect));
        sqlx::query("DELETE FROM evenkeel_outbox").execute(&pool).await.unwrap();
    }
    check("effects.jsonl", &vectors);
}

/// A service in another language sends its text, or what Redis shows: the row was carried out, and the entry stayed.
// shows: hazard BC3
#[tokio::test]
async fn effects_name_entries_as_programs_and_redis_do() {
    let (keel, database) = (Keel::memory(), sqlite_database().unwrap());
    let pool = sqlx::SqlitePool::connect(&database.url).await.unwrap();
    evenkeel::sql::migrate(&pool).await.unwrap();
    let users = keel.cache::<String, u64>("user").ttl(Duration::from_secs(600)).open().await.unwrap();
    let relay = keel.relay(&pool);
    for text in KEY_TEXTS {
        for (named, version) in [(text.to_owned(), 1), (shown(text), 2)] {
            let effects = json!([{ "invalidate": { "cache": "user", "key": named } }]);
            let insert = "INSERT INTO evenkeel_outbox_json (effects) VALUES ($1)";
            sqlx::query(insert).bind(effects.to_string()).execute(&pool).await.unwrap();
            for _ in 0..2 {
                relay.run_once().await.unwrap();
            }
            let found = users.get(text, |_| async move { Ok::<_, Infallible>(Some(version)) }).await.unwrap();
            assert_eq!(found.as_deref(), Some(&version), "{named} names the entry of {text}");
        }
    }
}

/// The job afterwards.
async fn job(mail: &Queue<Value>) -> Value {
    let id = JobId::named(JOB.as_bytes());
    match mail.topic().job(id).await.unwrap() {
        Some(Found::Live { job, .. }) => json!({ "id": id.to_string(), "body": hex(&job.spec.body) }),
        Some(Found::Ended(end)) => json!({ "id": id.to_string(), "ended": format!("{:?}", end.end) }),
        None => Value::Null,
    }
}
