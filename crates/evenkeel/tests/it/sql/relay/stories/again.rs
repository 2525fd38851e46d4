//! The database is unavailable during a pass of the relay, and available at the next one: nothing waits for a claim to expire.
//!
//! (A test of a cut connection waited for a minute) Messages that were sent before the connection broke were not recorded;
//! their key stayed claimed by a relay that had forgotten it, and later commits waited until that claim had expired.

use super::recorder::Recorder;
use super::stage::Stage;
use evenkeel::cache::{Cache, Freshness};
use evenkeel::sql::sink::Sinks;
use evenkeel::sql::{Message, Relay};
use std::time::Duration;

/// Makes a table unavailable by renaming it.
async fn hide(stage: &Stage, table: &str) {
    stage.sql(&format!("ALTER TABLE {table} RENAME TO hidden")).await;
}

async fn restore_table(stage: &Stage, table: &str) {
    stage.sql(&format!("ALTER TABLE hidden RENAME TO {table}")).await;
}

/// The table goes away when the sink has been called, and is restored when the pass has failed.
async fn pass_fails_to_record(stage: &Stage, relay: &Relay<super::Db>, sink: &Recorder, table: &str) {
    let look = tokio::spawn({
        let relay = relay.clone();
        async move { relay.run_once().await }
    });
    sink.until_called(1).await;
    hide(stage, table).await;
    sink.release(100);
    let looked = look.await.unwrap();
    assert!(looked.is_err(), "{looked:?}");
    restore_table(stage, table).await;
}

// shows: U3, sql::Relay::run_once
#[tokio::test]
async fn sent_messages_are_recorded_after_an_outage() {
    let stage = Stage::set().await;
    let sink = Recorder::holding();
    let relay = stage.relay(&sink);
    stage.publish("a", "a1").await;
    pass_fails_to_record(&stage, &relay, &sink, "evenkeel_outbox_keys").await;
    stage.publish("a", "a2").await;
    stage.drain(&relay).await;
    assert_eq!((sink.taken(), stage.sent("a").await), (vec!["a1".to_owned(), "a2".to_owned()], 2));
}

// shows: U3, sql::Relay::run_once
#[tokio::test]
async fn carried_out_rows_are_recorded_after_an_outage() {
    let stage = Stage::set().await;
    let sink = Recorder::holding();
    let relay = stage.relay(&sink);
    stage.publish_unordered("u").await;
    stage.due().await;
    pass_fails_to_record(&stage, &relay, &sink, "evenkeel_outbox").await;
    stage.drain(&relay).await;
    assert_eq!((sink.calls(), stage.outbox_rows(2).await), (1, 1), "done, and not done again");
}

// shows: U3, sql::Relay::run_once
#[tokio::test]
async fn next_pass_sends_what_a_failed_pass_had_claimed() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    let relay = stage.relay(&sink);
    stage.publish("a", "a1").await;
    // It claims the key, and cannot read its messages.
    hide(&stage, "evenkeel_outbox_ordered").await;
    let looked = relay.run_once().await;
    assert!(looked.is_err() && sink.calls() == 0, "{looked:?}");
    restore_table(&stage, "evenkeel_outbox_ordered").await;
    stage.drain(&relay).await;
    assert_eq!((sink.taken(), stage.sent("a").await), (vec!["a1".to_owned()], 1));
}

/// The fast path numbered the messages without the invalidations that the end of a window had carried out: the copy that a relay sent had
/// another id, so that no sink and no inbox recognized it.
// shows: hazard BW4
#[tokio::test]
async fn copy_of_a_message_behind_a_window_has_its_id() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    stage.keel.publish_to(&Sinks::to(sink.clone()));
    let builder = stage.keel.cache("strong").ttl(Duration::from_secs(600)).freshness(Freshness::Fresh);
    let strong: Cache<i64, i64> = builder.open().await.unwrap();
    let mut work = stage.keel.begin(&stage.pool).await.unwrap();
    work.invalidate(&strong, &1).unwrap();
    work.publish(Message::new("links", "u")).unwrap();
    Box::pin(work.commit()).await.unwrap();
    stage.keel.until_marked(&stage.pool).await;
    stage.sql("UPDATE evenkeel_outbox SET state = 1, due_at = 1, settled_at = NULL WHERE state = 2").await;
    stage.drain(&stage.relay(&sink)).await;
    let ids: Vec<String> = sink.envelopes().into_iter().map(|envelope| envelope.id).collect();
    assert_eq!((ids.len(), &ids[0]), (2, &ids[1]));
}
