//! The database goes away under a look of the relay, and is back at the next one: nothing waits for the end of a claim.
//!
//! (A test of a cut connection waited for a minute) What had been sent when the connection broke was not written down; its key
//! stayed claimed by a relay that had forgotten it, and what was committed after it waited until that claim had lapsed.

use super::recorder::Recorder;
use super::stage::Stage;
use evenkeel::sql::Relay;

/// A table is away as long as it has another name.
async fn hide(stage: &Stage, table: &str) {
    stage.sql(&format!("ALTER TABLE {table} RENAME TO hidden")).await;
}

async fn bring_back(stage: &Stage, table: &str) {
    stage.sql(&format!("ALTER TABLE hidden RENAME TO {table}")).await;
}

/// The table goes away when the sink has been called, and comes back when the look has failed.
async fn a_look_cannot_write_down(stage: &Stage, relay: &Relay<super::Db>, sink: &Recorder, table: &str) {
    let look = tokio::spawn({
        let relay = relay.clone();
        async move { relay.run_once().await }
    });
    sink.until_called(1).await;
    hide(stage, table).await;
    sink.release(100);
    let looked = look.await.unwrap();
    assert!(looked.is_err(), "{looked:?}");
    bring_back(stage, table).await;
}

#[tokio::test]
async fn what_was_sent_is_written_down_when_the_database_is_back() {
    let stage = Stage::set().await;
    let sink = Recorder::holding();
    let relay = stage.relay(&sink);
    stage.publish("a", "a1").await;
    a_look_cannot_write_down(&stage, &relay, &sink, "evenkeel_outbox_keys").await;
    stage.publish("a", "a2").await;
    stage.drain(&relay).await;
    assert_eq!((sink.taken(), stage.sent("a").await), (vec!["a1".to_owned(), "a2".to_owned()], 2));
}

#[tokio::test]
async fn what_was_carried_out_is_written_down_when_the_database_is_back() {
    let stage = Stage::set().await;
    let sink = Recorder::holding();
    let relay = stage.relay(&sink);
    stage.publish_unordered("u").await;
    stage.due().await;
    a_look_cannot_write_down(&stage, &relay, &sink, "evenkeel_outbox").await;
    stage.drain(&relay).await;
    assert_eq!((sink.calls(), stage.works(2).await), (1, 1), "done, and not done again");
}

#[tokio::test]
async fn what_a_look_that_failed_had_claimed_is_sent_by_the_next() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    let relay = stage.relay(&sink);
    stage.publish("a", "a1").await;
    // It claims the key, and cannot read its messages.
    hide(&stage, "evenkeel_outbox_ordered").await;
    let looked = relay.run_once().await;
    assert!(looked.is_err() && sink.calls() == 0, "{looked:?}");
    bring_back(&stage, "evenkeel_outbox_ordered").await;
    stage.drain(&relay).await;
    assert_eq!((sink.taken(), stage.sent("a").await), (vec!["a1".to_owned()], 1));
}
