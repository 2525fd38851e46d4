//! Every way in: what no program could decode, and an empty id, is rejected where it is accepted, and not later as a dead letter.

use super::databases::TestDatabase;
use bytes::Bytes;
use evenkeel::Keel;
use evenkeel::queue::topic::{JobState, NewTopicJob};
use evenkeel::queue::{Queue, QueueError};
use evenkeel::stream::{Stream, StreamError};
use evenkeel_protocol::queue::steps::{Reschedule, When};
use serde_json::Value;
use sqlx::Sqlite;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);

/// Texts that readers of JSON reject, although some of them can be skipped.
fn never_decoded() -> [String; 7] {
    let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
    ["", "{", "paid", "1 2", r#""\ud800""#, "1e999", &deep].map(str::to_owned)
}

fn new(body: Bytes, name: Option<&str>) -> NewTopicJob {
    let (when, name) = (When::In(0), name.map(str::to_owned));
    NewTopicJob { body, when, name, unique: None, priority: Default::default(), retries: None }
}

// shows: hazard SF4
#[tokio::test]
async fn value_that_no_program_decodes_is_rejected_by_every_way_in() {
    let keel = Keel::memory();
    let mail: Queue<Value> = keel.queue("mail").open().await.unwrap();
    let orders: Stream<Value> = keel.stream("orders").open().await.unwrap();
    let (topic, admin) = (mail.topic(), orders.admin());
    let id = mail.delay(HOUR, &Value::Null).await.unwrap();
    for text in never_decoded() {
        let body = Bytes::from(text.clone());
        let change = Reschedule { id, when: Some(When::In(1)), body: Some(body.clone()), codec: None };
        let refused = [
            topic.add(new(body.clone(), None)).await.err(),
            topic.edit(id, body.clone()).await.err(),
            topic.change(change).await.err(),
            topic.amend(id, "null".into(), body.clone()).await.err(),
        ];
        for (way, refused) in refused.iter().enumerate() {
            assert!(matches!(refused, Some(QueueError::Codec(_))), "{text:?}, way {way}: {refused:?}");
        }
        let refused = admin.append(b"key", body, None).await;
        assert!(matches!(refused, Err(StreamError::Codec(_))), "{text:?}: {refused:?}");
    }
    assert_eq!(topic.list(JobState::Waiting, None, 10).await.unwrap().len(), 1, "that of the test");
}

/// The row is parked before its transaction is carried out, with the reason.
// shows: hazard SF4
#[tokio::test]
async fn row_with_a_value_that_no_program_decodes_is_parked() {
    let (keel, place) = (Keel::memory(), TestDatabase::<Sqlite>::open().await);
    let mail: Queue<Value> = keel.queue("mail").open().await.unwrap();
    let relay = keel.relay(&place.pool);
    let mut rows = 0;
    for text in never_decoded() {
        let effects = format!(r#"[{{"enqueue": {{"topic": "mail", "body": {text}}}}}]"#);
        let insert = "INSERT INTO evenkeel_outbox_json (effects) VALUES (?)";
        // What is not JSON at all fails in the transaction of its program.
        rows += i64::from(sqlx::query(insert).bind(effects).execute(&place.pool).await.is_ok());
    }
    assert!(rows >= 3, "{rows} rows");
    while place.number("SELECT COUNT(*) FROM evenkeel_outbox WHERE state = 4").await < rows {
        relay.run_once().await.unwrap();
    }
    assert!(mail.topic().list(JobState::Waiting, None, 10).await.unwrap().is_empty());
}

// shows: hazard SF4
#[tokio::test]
async fn empty_id_is_rejected_by_every_way_in() {
    let (keel, place) = (Keel::memory(), TestDatabase::<Sqlite>::open().await);
    let mail: Queue<u32> = keel.queue("mail").open().await.unwrap();
    let orders: Stream<u32> = keel.stream("orders").open().await.unwrap();
    let mut work = keel.begin(&place.pool).await.unwrap();
    let refused = [
        mail.job(&1).id("").enqueue().await.err().map(|error| error.to_string()),
        mail.job(&1).unique("", HOUR).enqueue().await.err().map(|error| error.to_string()),
        mail.topic().add(new("1".into(), Some(""))).await.err().map(|error| error.to_string()),
        work.enqueue(mail.job(&1).id("")).err().map(|error| error.to_string()),
        work.reschedule(mail.job(&1).id("")).err().map(|error| error.to_string()),
        orders.admin().append(b"key", "1".into(), Some("")).await.err().map(|error| error.to_string()),
    ];
    for (way, refused) in refused.iter().enumerate() {
        assert!(refused.is_some(), "way {way} accepts an empty id");
    }
}
