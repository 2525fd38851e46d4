//! A trigger of the user's database rejects what a relay stores about one row.

use super::recorder::Recorder;
use super::stage::Stage;
use crate::log::Log;
use evenkeel::sql::sink::{Confirmed, SinkError};

/// The results of the whole batch were kept for as long as its claims lasted, nothing else was claimed meanwhile, and then all of it was
/// sent again: for ever.
#[tokio::test]
async fn result_that_the_database_rejects_stops_no_other() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    sink.answer(|envelope| match &envelope.payload[..] {
        b"sick" => Err(SinkError::Retry("not now".to_owned())),
        _ => Ok(Confirmed::Accepted),
    });
    for words in ["sick", "well", "unmarked", "fine"] {
        stage.publish(words, words).await;
        stage.publish_unordered(words).await;
    }
    let [refuse, unless] = ["CREATE TRIGGER", "BEGIN SELECT RAISE(ABORT, 'refused'); END"];
    for (name, when) in [
        ("a BEFORE UPDATE ON evenkeel_outbox", "NEW.error LIKE '%not now%'"),
        ("b BEFORE UPDATE ON evenkeel_outbox", "NEW.state = 2 AND instr(NEW.effects, CAST('unmarked' AS BLOB)) > 0"),
        ("c BEFORE UPDATE ON evenkeel_outbox_keys", "NEW.error LIKE '%not now%'"),
        ("d BEFORE UPDATE ON evenkeel_outbox_keys", "NEW.message_key = 'unmarked' AND NEW.sent_sequence = 1"),
    ] {
        stage.sql(&format!("{refuse} {name} WHEN {when} {unless}")).await;
    }
    stage.due().await;
    let relay = stage.relay(&sink);
    let refused = relay.run_once().await.unwrap_err();
    assert!(refused.to_string().contains("refused") && !refused.is_retryable(), "{refused}");
    assert_eq!(stage.outbox_rows(2).await, 2, "those of the units of work that are well");
    let mut sent = Vec::new();
    for key in ["sick", "well", "unmarked", "fine"] {
        sent.push(stage.sent(key).await);
    }
    assert_eq!(sent, [0, 1, 0, 1]);
    // The claims on the others last, and the next pass works on what is due.
    stage.publish("next", "next").await;
    stage.publish_unordered("next").await;
    stage.sql("UPDATE evenkeel_outbox SET due_at = 1 WHERE claim IS NULL AND due_at IS NOT NULL").await;
    let next = relay.run_once().await.unwrap();
    assert_eq!((next.carried, next.sent), (1, 1));
}

/// Each pass logged the same failure, every few seconds, for as long as it lasted.
#[tokio::test]
async fn failure_of_each_pass_is_logged_once() {
    let stage = Stage::set().await;
    let relay = stage.relay(&Recorder::new());
    let log = Log::begin();
    for _ in 0..2 {
        stage.sql("ALTER TABLE evenkeel_outbox RENAME TO hidden").await;
        for _ in 0..3 {
            relay.run_once().await.unwrap_err();
        }
        stage.sql("ALTER TABLE hidden RENAME TO evenkeel_outbox").await;
        relay.run_once().await.unwrap();
    }
    log.says(&["the relay could not process the outbox", "the relay could not process the outbox"]);
}
