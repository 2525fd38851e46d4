//! The database is unavailable during a pass of the relay, and available at the next one: nothing waits for a claim to expire.
//!
//! (A test of a cut connection waited for a minute) Messages that were sent before the connection broke were not recorded;
//! their key stayed claimed by a relay that had forgotten it, and later commits waited until that claim had expired.

use super::recorder::Recorder;
use super::stage::Stage;
use evenkeel::sql::Relay;

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
