//! The database rejects one result of a pass, here by a trigger.

use super::recorder::Recorder;
use super::stage::Stage;
use evenkeel::sql::sink::SinkError;
use std::time::Duration;

/// The results behind the first one that the database rejected were not stored, and their effects were carried out again.
// shows: hazard BW14
#[tokio::test]
async fn rejected_result_of_a_unit_of_work_stops_no_other() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    sink.answer(|envelope| Err(SinkError::Retry(String::from_utf8_lossy(&envelope.payload).into_owned())));
    // It fails for the last time, which is stored after other failures.
    stage.publish_unordered("well").await;
    stage.sql("UPDATE evenkeel_outbox SET attempts = 1").await;
    stage.publish_unordered("sick").await;
    stage.due().await;
    let trigger = "CREATE TRIGGER refuse BEFORE UPDATE ON evenkeel_outbox WHEN NEW.error LIKE '%sick%' \
                   BEGIN SELECT RAISE(ABORT, 'refused'); END";
    stage.sql(trigger).await;
    let later = Duration::from_secs(60);
    let relay = stage.relay(&sink).backoff(later, later).attempts_max(2);
    relay.run_once().await.unwrap_err();
    assert_eq!((stage.outbox_rows(1).await, stage.outbox_rows(4).await), (1, 1));
    stage.sql("DROP TRIGGER refuse").await;
    relay.run_once().await.unwrap();
    let failed = "SELECT COUNT(*) FROM evenkeel_outbox WHERE state = 1 AND attempts = 1 AND error LIKE '%sick%'";
    assert_eq!((stage.number(failed).await, sink.calls()), (1, 2), "the rejected result was kept");
}

/// The results of all keys of a pass are stored in one transaction.
// shows: hazard BW14
#[tokio::test]
async fn rejected_result_of_a_key_stops_no_other() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    for key in ["a", "b"] {
        stage.publish(key, key).await;
    }
    let trigger = "CREATE TRIGGER refuse BEFORE UPDATE ON evenkeel_outbox_keys \
                   WHEN NEW.message_key = 'a' AND NEW.sent_sequence > OLD.sent_sequence \
                   BEGIN SELECT RAISE(ABORT, 'refused'); END";
    stage.sql(trigger).await;
    let relay = stage.relay(&sink);
    // The second pass stores each result by itself.
    for _ in 0..2 {
        relay.run_once().await.unwrap_err();
    }
    assert_eq!((stage.sent("a").await, stage.sent("b").await), (0, 1));
    stage.sql("DROP TRIGGER refuse").await;
    relay.run_once().await.unwrap();
    assert_eq!((stage.sent("a").await, sink.calls()), (1, 2), "the rejected result was kept");
}
