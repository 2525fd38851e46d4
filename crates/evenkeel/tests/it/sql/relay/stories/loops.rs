//! The loops: wake-up, graceful stop, and what is deleted in time.

use super::recorder::Recorder;
use super::stage::Stage;
use super::{Db, blob};
use evenkeel::sql::Message;
use evenkeel::sql::sink::Sinks;
use std::time::Duration;
use tokio::sync::oneshot;

/// A commit of this process ends the pause of its relay; nothing stays claimed when the relay stops.
#[tokio::test]
async fn commit_wakes_the_relay_of_its_process() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    let hour = Duration::from_secs(3600);
    let relay = stage.keel.relay::<Db>(&stage.pool).sinks(Sinks::to(sink.clone())).poll(hour, hour);
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(async move {
        relay
            .run(async {
                let _ = stopped.await;
            })
            .await;
    });
    for number in 1..=3 {
        // The clock is frozen, so only the commit can have started this pass.
        stage.publish("a", &format!("a{number}")).await;
        sink.until_called(number).await;
    }
    stop.send(()).unwrap();
    running.await.unwrap();
    assert_eq!((sink.sequences("a"), stage.sent("a").await), (vec![1, 2, 3], 3));
    assert_eq!(stage.number("SELECT COUNT(*) FROM evenkeel_outbox_keys WHERE claim IS NOT NULL").await, 0);
}

/// A relay without a sink would claim messages that it cannot send; it leaves them to relays that have one. Units of work without
/// messages are carried out.
#[tokio::test]
async fn relay_without_sinks_does_not_claim_messages() {
    let stage = Stage::set().await;
    stage.publish("a", "a1").await;
    let without = stage.keel.another_process().relay(&stage.pool);
    let mail = stage.keel.queue::<String>("mail").open().await.unwrap();
    let mut work = stage.keel.begin(&stage.pool).await.unwrap();
    work.publish(Message::new("links", "unordered")).unwrap();
    let job = work.enqueue(mail.job(&"hello".to_owned())).unwrap();
    Box::pin(work.commit()).await.unwrap();
    stage.due().await;
    let looked = without.run_once().await.unwrap();
    assert_eq!((looked.carried, looked.sent, looked.waiting), (0, 0, 1));
    assert_eq!(stage.number("SELECT COUNT(*) FROM evenkeel_outbox_keys WHERE claim IS NOT NULL").await, 0);
    let (steps, shard) = mail.steps(&job);
    let found = steps.job(&shard, job).await.unwrap();
    assert!(found.is_some(), "the job is there");
    let sink = Recorder::new();
    stage.due().await;
    stage.drain(&stage.relay(&sink)).await;
    assert_eq!(sink.taken().len(), 2);
}

/// Rows decide on commits whose reply was lost, so they are kept for a while; then they are deleted, and only those that are
/// done.
// shows: sql::Relay::tidy_once
#[tokio::test]
async fn done_rows_are_deleted_after_the_retention() {
    let stage = Stage::set().await;
    let row = |number: u8, state: u8, settled_at: &str| {
        let id = blob(&format!("0000000000{number:02x}70008000000000000000"));
        let text = "INSERT INTO evenkeel_outbox (id, state, attempts, created_at, settled_at, due_at) VALUES";
        let due_at = if state == 1 { "9000000000000" } else { "NULL" };
        format!("{text} ({id}, {state}, 0, 1, {settled_at}, {due_at})")
    };
    let young = "9000000000000";
    for (number, state, settled_at) in [(1, 2, "1"), (2, 3, "1"), (3, 1, "NULL"), (4, 4, "1"), (5, 2, young)] {
        stage.sql(&row(number, state, settled_at)).await;
    }
    stage.publish_unordered("waits").await;
    let relay = stage.relay(&Recorder::new());
    assert_eq!(relay.tidy_once().await.unwrap(), 2);
    assert_eq!(
        (
            stage.outbox_rows(1).await,
            stage.outbox_rows(2).await,
            stage.outbox_rows(3).await,
            stage.outbox_rows(4).await
        ),
        (2, 1, 0, 1)
    );
}
