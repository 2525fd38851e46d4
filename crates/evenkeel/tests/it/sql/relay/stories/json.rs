//! Effects that programs in other languages insert as JSON by plain SQL (V13).

use super::Db;
use super::recorder::Recorder;
use super::stage::Stage;
use evenkeel::Keel;
use evenkeel::cache::Cache;
use evenkeel::queue::topic::JobState;
use evenkeel::queue::{Found, JobId, Queue};
use evenkeel::sql::Relay;
use evenkeel::sql::relay::operate::{Outbox, WorkState};
use evenkeel::sql::sink::Sinks;
use std::time::Duration;

const ONE_OF_EACH: &str = r#"[
    {"invalidate": {"cache": "user", "key": "42"}},
    {"enqueue": {"topic": "mail", "id": "welcome/42", "body": {"user": 42,  "large": 12345678901234567890123}}},
    {"publish": {"topic": "links", "payload": {"user":42}, "headers": {"type": "joined"}}}
]"#;

async fn insert(stage: &Stage, effects: &str) {
    stage.sql(&format!("INSERT INTO evenkeel_outbox_json (effects) VALUES ('{effects}')")).await;
}

async fn left(stage: &Stage) -> i64 {
    stage.number("SELECT COUNT(*) FROM evenkeel_outbox_json").await
}

/// A relay whose process shares the store of the stage.
fn relay(stage: &Stage, sink: &Recorder) -> Relay<Db> {
    stage.keel.relay(&stage.pool).sinks(Sinks::to(sink.clone()))
}

async fn mail(stage: &Stage) -> Queue<serde_json::Value> {
    stage.keel.queue("mail").open().await.unwrap()
}

/// The body as it was stored.
async fn body(mail: &Queue<serde_json::Value>, name: &str) -> Option<Vec<u8>> {
    match mail.topic().job(JobId::named(name.as_bytes())).await.unwrap() {
        Some(Found::Live { job, .. }) => Some(job.spec.body.to_vec()),
        Some(Found::Ended(_)) | None => None,
    }
}

// shows: V13
#[tokio::test]
async fn inserted_effects_are_carried_out() {
    let stage = Stage::set().await;
    let (mail, sink) = (mail(&stage).await, Recorder::new());
    let users: Cache<u64, u64> = stage.keel.cache("user").ttl(Duration::from_secs(600)).open().await.unwrap();
    assert_eq!(users.get(&42, |_| async { Ok::<_, std::io::Error>(Some(1)) }).await.unwrap().as_deref(), Some(&1));
    insert(&stage, ONE_OF_EACH).await;

    stage.drain(&relay(&stage, &sink)).await;
    assert_eq!(left(&stage).await, 0);
    assert_eq!(users.get(&42, |_| async { Ok::<_, std::io::Error>(Some(2)) }).await.unwrap().as_deref(), Some(&2));
    let expected = r#"{"user": 42,  "large": 12345678901234567890123}"#;
    assert_eq!(body(&mail, "welcome/42").await.as_deref(), Some(expected.as_bytes()), "the body is not byte for byte");
    assert_eq!(sink.taken(), [r#"{"user":42}"#]);
}

/// The row belongs to the transaction that inserts it.
// shows: V13
#[tokio::test]
async fn effects_of_a_rolled_back_transaction_do_not_happen() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    let mut transaction = stage.pool.begin().await.unwrap();
    let insert = format!("INSERT INTO evenkeel_outbox_json (effects) VALUES ('{ONE_OF_EACH}')");
    sqlx::raw_sql(sqlx::AssertSqlSafe(insert)).execute(&mut *transaction).await.unwrap();
    transaction.rollback().await.unwrap();
    stage.drain(&relay(&stage, &sink)).await;
    assert!(sink.taken().is_empty());
}

// shows: V13
#[tokio::test]
async fn text_that_is_not_json_fails_in_its_own_transaction() {
    let stage = Stage::set().await;
    for text in ["", "[", "{\"publish\"", "publish"] {
        let insert = format!("INSERT INTO evenkeel_outbox_json (effects) VALUES ('{text}')");
        let answer = sqlx::raw_sql(sqlx::AssertSqlSafe(insert)).execute(&stage.pool).await;
        assert!(answer.is_err(), "{text:?} was accepted");
    }
    assert_eq!(left(&stage).await, 0);
}

/// Numbers were parked after their commit, although the key of a row often is one; a text with a comma named no entry.
// shows: V13, hazard BW6
#[tokio::test]
async fn numbers_and_texts_name_the_entries_and_jobs_of_rust() {
    let stage = Stage::set().await;
    let (mail, sink) = (mail(&stage).await, Recorder::new());
    let large = u128::MAX.to_string();
    let keys = ["42", "-7", &large, "100%", "/a%20b", "Müller, Ada", "{x}"];
    let users: Cache<String, u64> = stage.keel.cache("user").ttl(Duration::from_secs(600)).open().await.unwrap();
    let get = async |value: u64| {
        let mut found = Vec::new();
        for key in keys {
            let load = async move { Ok::<_, std::io::Error>(Some(value)) };
            found.push(*users.get(key, |_| load).await.unwrap().unwrap());
        }
        found
    };
    assert_eq!(get(1).await, [1; 7]);
    for key in ["42", "-7", &large, r#""100%""#, r#""/a%20b""#, r#""Müller, Ada""#, r#""{x}""#] {
        insert(&stage, &format!(r#"[{{"invalidate": {{"cache": "user", "key": {key}}}}}]"#)).await;
    }
    insert(&stage, r#"[{"enqueue": {"topic": "mail", "id": 7, "body": "hello"}}]"#).await;
    insert(
        &stage,
        r#"[{"enqueue": {"topic": "mail", "id": 8, "body": "hello"}}, {"revoke": {"topic": "mail", "id": 8}}]"#,
    )
    .await;
    stage.drain(&relay(&stage, &sink)).await;
    assert_eq!((left(&stage).await, stage.outbox_rows(4).await), (0, 0));
    assert_eq!(get(2).await, [2; 7]);
    assert_eq!(body(&mail, "7").await.as_deref(), Some(&br#""hello""#[..]));
    assert_eq!(body(&mail, "8").await, None);
}

/// Rows in which a program made a mistake are parked, each with the reason, and the others go on.
// shows: V13, hazard BW5, hazard BW6, hazard SF5, hazard T25
#[tokio::test]
async fn malformed_row_is_parked_and_others_are_carried_out() {
    let stage = Stage::set().await;
    let (_mail, sink) = (mail(&stage).await, Recorder::new());
    let wrong = [
        (r#"{"publish": {"topic": "links", "payload": 1}}"#, "must be a JSON array"),
        (r#"[{"publish": {"topic": "links", "payload": 1}}, {"launch": {}}]"#, "effect 2: unknown variant `launch`"),
        (r#"[{"publish": {"topic": "links", "payload": 1, "key": "7"}}]"#, "effect 1: unknown field `key`"),
        (r#"[{"publish": {"topic": "links"}}]"#, "effect 1 (publish): give either `payload` or `payload_base64`"),
        (r#"[{"publish": {"topic": "", "payload": 1}}]"#, "the topic of a message has 1 to 255 bytes"),
        (r#"[{"publish": {"topic": "links", "payload_base64": "%"}}]"#, "is not Base64"),
        (r#"[{"enqueue": {"topic": "mail", "body": 1, "delay_ms": 1, "due_at": 1}}]"#, "either `due_at` or `delay_ms`"),
        (r#"[{"enqueue": {"topic": "mail", "body": 1, "delay_ms": -1}}]"#, "effect 1: invalid value"),
        (r#"[{"enqueue": {"topic": "mail", "body": 1, "due_at": -1}}]"#, "effect 1: invalid value: integer `-1`"),
        (r#"[{"enqueue": {"topic": "mail", "body": 1, "due_at": 1700000000}}]"#, "looks like seconds"),
        (r#"[{"invalidate": {"cache": "a:b", "key": "1"}}]"#, "`cache`: the name must be 1 to 64 letters"),
        (r#"[{"invalidate": {"cache": "a b", "key": "1"}}]"#, "`cache`: the name must be 1 to 64 letters"),
        (r#"[{"invalidate": {"cache": "a", "key": ""}}]"#, "`key`: the key must have 1 to 4096 bytes"),
        (r#"[{"invalidate": {"cache": "a", "key": "1", "lag_ms": 1099511627777}}]"#, "a time is longer than 34 years"),
        (r#"[{"invalidate": {"cache": "a", "key": 1.5}}]"#, "a key or an id is text or a whole number, not 1.5"),
        (r#"[{"revoke": {"topic": "mail", "id": ""}}]"#, "`id` is empty"),
        (r#"[{"enqueue": {"topic": "mail", "id": "", "body": 1}}]"#, "`id` is empty"),
        (r#"[{"enqueue": {"topic": "mail", "body": [1e999]}}]"#, "`body`: number out of range"),
        (r#"[{"publish": {"topic": "links", "payload": 1e999}}]"#, "`payload`: number out of range"),
        (r#"[{"publish": {"topic": "evenkeel.stream/orders", "payload": 1}}]"#, "reserved for entries of streams"),
        ("null", "must be a JSON array"),
    ];
    for (effects, _) in wrong {
        insert(&stage, effects).await;
    }
    insert(&stage, r#"[{"publish": {"topic": "links", "payload": "last"}}]"#).await;
    stage.drain(&relay(&stage, &sink)).await;

    assert_eq!((left(&stage).await, stage.outbox_rows(4).await), (0, i64::try_from(wrong.len()).unwrap()));
    assert_eq!(sink.taken(), [r#""last""#]);
    let parked = Outbox::new(&stage.pool).units(WorkState::Parked, None, 100).await.unwrap();
    for (effects, error) in wrong {
        let found = parked.iter().any(|work| work.error.as_deref().is_some_and(|text| text.contains(error)));
        assert!(found, "no parked row says {error:?} of {effects}: {parked:?}");
    }
}

/// A row may have no effects, or as many as a transaction has; one effect above is a mistake.
// shows: V13
#[tokio::test]
async fn row_has_at_most_a_thousand_effects() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    let many = |count: usize| {
        let one = r#"{"publish": {"topic": "links", "payload": 1}}"#;
        format!("[{}]", vec![one; count].join(","))
    };
    for count in [0, 1, 1_000, 1_001] {
        insert(&stage, &many(count)).await;
    }
    stage.drain(&relay(&stage, &sink)).await;
    assert_eq!((left(&stage).await, stage.outbox_rows(4).await, sink.taken().len()), (0, 1, 1_001));
}

/// The program that opens the queue may start later.
// shows: V13
#[tokio::test]
async fn row_waits_for_a_topic_that_no_program_has_opened() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    insert(&stage, r#"[{"enqueue": {"topic": "mail", "id": "early", "body": "hello"}}]"#).await;
    insert(&stage, r#"[{"publish": {"topic": "links", "payload": "meanwhile"}}]"#).await;
    let relay = relay(&stage, &sink);
    stage.drain(&relay).await;
    assert_eq!((left(&stage).await, stage.outbox_rows(4).await, sink.taken().len()), (1, 0, 1));

    let mail = mail(&stage).await;
    stage.sql("UPDATE evenkeel_outbox_json SET due_at = 0").await;
    stage.drain(&relay).await;
    assert_eq!((left(&stage).await, body(&mail, "early").await.as_deref()), (0, Some(&br#""hello""#[..])));
}

// shows: V13
#[tokio::test]
async fn row_for_an_unknown_topic_is_parked_after_a_day() {
    let stage = Stage::set().await;
    insert(&stage, r#"[{"revoke": {"topic": "mail", "id": "early"}}]"#).await;
    stage.sql("UPDATE evenkeel_outbox_json SET created_at = created_at - 90000000").await;
    stage.drain(&relay(&stage, &Recorder::new())).await;
    assert_eq!((left(&stage).await, stage.outbox_rows(4).await), (0, 1));
}

/// A repetition of the same row would succeed once Redis replies. Rows without jobs do not need it.
#[tokio::test]
async fn row_waits_while_redis_is_away_however_old_it_is() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    let keel = Keel::connect_lazy("redis://127.0.0.1:1").await.unwrap();
    insert(&stage, r#"[{"revoke": {"topic": "mail", "id": "early"}}]"#).await;
    insert(&stage, r#"[{"enqueue": {"topic": "post", "id": "early", "body": 1}}]"#).await;
    stage.sql("UPDATE evenkeel_outbox_json SET created_at = created_at - 90000000").await;
    insert(&stage, r#"[{"publish": {"topic": "links", "payload": "meanwhile"}}]"#).await;
    stage.drain(&keel.relay(&stage.pool).sinks(Sinks::to(sink.clone()))).await;
    assert_eq!((left(&stage).await, stage.outbox_rows(4).await, sink.taken().len()), (2, 0, 1));
}

/// The newest row of a job wins, a delay counts from the insertion, and a job without an id is always new.
// shows: V13
#[tokio::test]
async fn jobs_of_rows_are_upserts_by_id() {
    let stage = Stage::set().await;
    let (mail, relay) = (mail(&stage).await, relay(&stage, &Recorder::new()));
    insert(&stage, r#"[{"enqueue": {"topic": "mail", "id": "a", "delay_ms": 600000, "body": 1}}]"#).await;
    insert(&stage, r#"[{"enqueue": {"topic": "mail", "id": "a", "delay_ms": 700000, "body": 2}}]"#).await;
    insert(&stage, r#"[{"enqueue": {"topic": "mail", "body_base64": "Mw=="}}]"#).await;
    insert(
        &stage,
        r#"[{"enqueue": {"topic": "mail", "id": "b", "body": 4}}, {"revoke": {"topic": "mail", "id": "b"}}]"#,
    )
    .await;
    stage.drain(&relay).await;
    let topic = mail.topic();
    assert_eq!(body(&mail, "a").await.as_deref(), Some(&b"2"[..]));
    assert_eq!(body(&mail, "b").await, None, "the later effect of the row withdraws the job");
    let waiting = topic.list(JobState::Waiting, None, 10).await.unwrap();
    assert_eq!(waiting.len(), 2, "{waiting:?}");

    let created = stage.number("SELECT MAX(version) FROM evenkeel_job_versions").await;
    assert!(created > 0, "jobs with ids have versions of the database");
    insert(&stage, r#"[{"revoke": {"topic": "mail", "id": "a"}}]"#).await;
    stage.drain(&relay).await;
    assert_eq!(body(&mail, "a").await, None);
}

// shows: V13
#[tokio::test]
async fn several_relays_move_each_row_once() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    for number in 0..200 {
        insert(&stage, &format!(r#"[{{"publish": {{"topic": "links", "payload": {number}}}}}]"#)).await;
    }
    let relays = [relay(&stage, &sink), relay(&stage, &sink), relay(&stage, &sink)];
    while left(&stage).await > 0 || stage.outbox_rows(1).await > 0 {
        for pass in futures_util::future::join_all(relays.iter().map(Relay::run_once)).await {
            pass.unwrap();
        }
    }
    let mut taken: Vec<u32> = sink.taken().iter().map(|text| text.parse().unwrap()).collect();
    taken.sort_unstable();
    taken.dedup();
    assert_eq!((taken.len(), stage.outbox_rows(4).await), (200, 0));
    assert_eq!(stage.outbox_rows(2).await, 200, "a row became two units of work");
}

/// A program sets the times of its row to extremes: the row is rejected, moved or parked, and others go on.
// shows: V13
#[tokio::test]
async fn row_with_an_extreme_time_does_not_stop_others() {
    let stage = Stage::set().await;
    let (_mail, sink) = (mail(&stage).await, Recorder::new());
    let with = |created_at: i64, effects: &str| {
        let insert =
            format!("INSERT INTO evenkeel_outbox_json (effects, created_at) VALUES ('{effects}', {created_at})");
        sqlx::raw_sql(sqlx::AssertSqlSafe(insert)).execute(&stage.pool)
    };
    let message = r#"[{"publish": {"topic": "links", "payload": 1}}]"#;
    let job = format!(r#"[{{"enqueue": {{"topic": "mail", "body": 1, "delay_ms": {}}}}}]"#, u64::MAX);
    assert!(with(-1, message).await.is_err(), "a time before 1970 was accepted");
    for created_at in [0, 1, i64::MAX] {
        with(created_at, message).await.unwrap();
        with(created_at, &job).await.unwrap();
    }
    stage.drain(&relay(&stage, &sink)).await;
    assert_eq!((left(&stage).await, stage.outbox_rows(4).await, sink.taken().len()), (0, 3, 3));
}
