//! What operators see and decide (U4).

use super::recorder::Recorder;
use super::stage::Stage;
use evenkeel::sql::relay::operate::{Outbox, ParkedDecision, WorkState};
use evenkeel::sql::sink::{Confirmed, SinkError};
use std::time::Duration;

/// A key with a message that cannot be sent, and a unit of work that cannot be carried out: both are parked.
async fn parked(stage: &Stage, sink: &Recorder) {
    sink.answer(|envelope| match &envelope.payload[..] {
        b"bad" => Err(SinkError::Retry("not like this".to_owned())),
        _ => Ok(Confirmed::Accepted),
    });
    for words in ["a1", "bad", "a3"] {
        stage.publish("a", words).await;
    }
    stage.publish_unordered("bad").await;
    stage.due().await;
    stage.drain(&stage.relay(sink).attempts_max(1)).await;
    assert_eq!(sink.taken(), ["a1"]);
}

/// An operator sees what is parked and why, and how much waits behind it.
// shows: U4, sql::Outbox::stats, sql::Outbox::units, sql::Outbox::keys
#[tokio::test]
async fn parked_rows_are_listed_with_their_reason() {
    let stage = Stage::set().await;
    parked(&stage, &Recorder::new()).await;
    let outbox = Outbox::new(&stage.pool);
    let keys = outbox.keys(true, (String::new(), String::new()), 10).await.unwrap();
    assert_eq!((keys.len(), keys[0].topic.as_str(), keys[0].key.as_str()), (1, "links", "a"));
    assert_eq!((keys[0].sent, keys[0].last, keys[0].attempts, keys[0].due_ms), (1, 3, 1, None));
    assert!(
        keys[0].parked_ms.is_some() && keys[0].error.as_deref().is_some_and(|error| error.contains("not like this"))
    );
    let works = outbox.units(WorkState::Parked, None, 10).await.unwrap();
    assert_eq!((works.len(), works[0].effects.as_slice()), (1, &["publish links (3 bytes)".to_owned()][..]));
    assert!(works[0].error.as_deref().is_some_and(|error| error.contains("not like this")), "{works:?}");
    assert!(outbox.units(WorkState::Parked, Some(works[0].id), 10).await.unwrap().is_empty(), "the next page");
    let stats = outbox.stats().await.unwrap();
    assert_eq!((stats.parked, stats.waiting, stats.messages), (1, 0, 2));
    assert_eq!((stats.keys, stats.keys_waiting, stats.keys_parked), (1, 1, 1));
    assert!(stats.oldest_message_ms.is_some_and(|oldest| oldest <= stats.now_ms));
}

/// The cause was fixed: the parked message is sent, and then those behind it, in order.
// shows: U4, sql::Outbox::release, sql::Outbox::release_key, sql::Outbox::retry, sql::Outbox::purge
#[tokio::test]
async fn released_rows_are_sent() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    parked(&stage, &sink).await;
    sink.come_back();
    let outbox = Outbox::new(&stage.pool);
    let work = outbox.units(WorkState::Parked, None, 10).await.unwrap()[0].id;
    assert!(outbox.release(work, ParkedDecision::Resend).await.unwrap());
    assert!(outbox.release_key("links", "a", ParkedDecision::Resend).await.unwrap());
    assert!(!outbox.release_key("links", "a", ParkedDecision::Resend).await.unwrap(), "once");
    stage.drain(&stage.relay(&sink)).await;
    assert_eq!(sink.sequences("a"), [1, 2, 3]);
    assert_eq!((sink.taken().len(), stage.outbox_rows(2).await), (4, 4));
}

/// It can never be sent: this message is skipped, and those behind it are sent.
// shows: U4, sql::Outbox::release, sql::Outbox::release_key, sql::Outbox::retry, sql::Outbox::purge
#[tokio::test]
async fn skipped_message_unblocks_its_key() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    parked(&stage, &sink).await;
    let outbox = Outbox::new(&stage.pool);
    let work = outbox.units(WorkState::Parked, None, 10).await.unwrap()[0].id;
    assert!(outbox.release(work, ParkedDecision::Skip).await.unwrap());
    assert!(!outbox.release(work, ParkedDecision::Skip).await.unwrap(), "once");
    assert!(outbox.release_key("links", "a", ParkedDecision::Skip).await.unwrap());
    assert!(!outbox.release_key("links", "nobody", ParkedDecision::Skip).await.unwrap());
    stage.drain(&stage.relay(&sink)).await;
    assert_eq!((sink.sequences("a"), stage.sent("a").await), (vec![1, 3], 3));
    let stats = outbox.stats().await.unwrap();
    assert_eq!((stats.parked, stats.keys_parked, stats.messages, stats.keys_waiting), (0, 0, 0, 0));
}

/// After an outage an operator should not have to wait for the longest delay.
// shows: sql::Outbox::release, sql::Outbox::release_key, sql::Outbox::retry, sql::Outbox::purge
#[tokio::test]
async fn operator_ends_delays_and_deletes_done_rows() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    sink.answer(|_| Err(SinkError::Retry("no".to_owned())));
    stage.publish("a", "a1").await;
    stage.publish_unordered("u").await;
    stage.due().await;
    let hour = Duration::from_secs(3600);
    let relay = stage.relay(&sink).backoff(hour, hour);
    assert_eq!(relay.run_once().await.unwrap().failed, 2);
    sink.come_back();
    assert_eq!(stage.drain(&relay).await.len(), 0, "not due for an hour");
    let outbox = Outbox::new(&stage.pool);
    assert_eq!(outbox.retry().await.unwrap(), 2);
    stage.drain(&relay).await;
    assert_eq!(sink.taken().len(), 2);
    assert_eq!(outbox.purge(Duration::ZERO).await.unwrap(), 0, "rows decide about commits for ten minutes");
    stage.sql("UPDATE evenkeel_outbox SET settled_at = 1 WHERE state = 2").await;
    assert_eq!((outbox.purge(Duration::ZERO).await.unwrap(), stage.outbox_rows(2).await), (2, 0));
}
