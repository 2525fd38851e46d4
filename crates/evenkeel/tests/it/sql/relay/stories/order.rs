//! No committed row is skipped, in whatever order transactions commit, and the messages of each key stay in order.

use super::WRITERS;
use super::recorder::{Careless, Recorder};
use super::stage::Stage;
use evenkeel::sql::Message;
use evenkeel::sql::sink::{Confirmed, SinkError, Sinks};
use futures_util::future::join_all;
use std::time::Duration;

/// (R1) A published relay polled `WHERE id > last`. A transaction that had drawn a lower id and committed later was never read,
/// and one that was rolled back left a hole that others waited for.
// shows: U3, hazard O1, sql::Relay
#[tokio::test]
async fn late_commit_with_a_lower_id_is_sent() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    let relay = stage.relay(&sink);
    if WRITERS {
        let mut early = stage.keel.begin(&stage.pool).await.unwrap();
        early.publish(Message::new("links", "early")).unwrap();
        let gone = stage.keel.begin(&stage.pool).await.unwrap();
        // However long it stays open.
        stage.clock.advance(Duration::from_secs(31));
        stage.publish_unordered("late").await;
        gone.rollback().await.unwrap();
        stage.due().await;
        stage.drain(&relay).await;
        assert_eq!(sink.taken(), ["late"]);
        Box::pin(early.commit()).await.unwrap();
    } else {
        stage.publish_unordered("late").await;
        stage.keel.begin(&stage.pool).await.unwrap().rollback().await.unwrap();
        stage.publish_unordered("early").await;
    }
    stage.due().await;
    stage.drain(&relay).await;
    assert_eq!(sink.taken(), ["late", "early"]);
    assert_eq!(stage.outbox_rows(2).await, 2);
}

/// A message of a transaction that was rolled back is never sent, and leaves no hole in the sequences of its key.
// shows: U3, hazard O1, spec/unit-of-work.md
#[tokio::test]
async fn rollback_leaves_no_gap_in_the_sequence() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    stage.publish("a", "one").await;
    let mut gone = stage.keel.begin(&stage.pool).await.unwrap();
    gone.publish(Message::new("links", "never").key("a")).unwrap();
    gone.rollback().await.unwrap();
    stage.publish("a", "two").await;
    stage.drain(&stage.relay(&sink)).await;
    assert_eq!((sink.taken(), sink.sequences("a")), (vec!["one".to_owned(), "two".to_owned()], vec![1, 2]));
    assert_eq!(stage.number("SELECT COUNT(*) FROM evenkeel_outbox_ordered").await, 0, "what was sent is deleted");
}

/// A transaction that stays open holds the row of its key. A relay that waited for it sent nothing of any other key either.
// shows: U3, hazard O1
#[tokio::test]
async fn open_transaction_does_not_delay_other_keys() {
    let stage = Stage::set().await;
    if !WRITERS {
        return;
    }
    let sink = Recorder::new();
    let relay = stage.relay(&sink);
    stage.publish("a", "a1").await;
    let mut open = stage.pool.begin().await.unwrap();
    let touch = "UPDATE evenkeel_outbox_keys SET attempts = attempts WHERE topic = 'links' AND message_key = 'a'";
    sqlx::raw_sql(touch).execute(&mut *open).await.unwrap();
    stage.publish("b", "b1").await;
    stage.publish_unordered("u").await;
    stage.works_due().await;
    relay.run_once().await.unwrap();
    let mut taken = sink.taken();
    taken.sort();
    assert_eq!(taken, ["b1", "u"]);
    open.commit().await.unwrap();
    stage.drain(&relay).await;
    assert_eq!(sink.sequences("a"), [1]);
}

/// The row of a key is locked when its message has been confirmed: other keys continue, and nothing is sent twice.
// shows: U3
#[tokio::test]
async fn locked_key_is_settled_later_and_not_sent_twice() {
    let stage = Stage::set().await;
    if !WRITERS {
        return;
    }
    let sink = Recorder::holding();
    let relay = stage.relay(&sink);
    stage.publish("a", "a1").await;
    stage.publish("b", "b1").await;
    let look = tokio::spawn({
        let relay = relay.clone();
        async move { relay.run_once().await.unwrap() }
    });
    sink.until_called(1).await;
    let mut open = stage.pool.begin().await.unwrap();
    let touch = "UPDATE evenkeel_outbox_keys SET attempts = attempts WHERE topic = 'links' AND message_key = 'a'";
    sqlx::raw_sql(touch).execute(&mut *open).await.unwrap();
    sink.release(100);
    assert_eq!(look.await.unwrap().sent, 2);
    assert_eq!((stage.sent("a").await, stage.sent("b").await), (0, 1));
    open.commit().await.unwrap();
    stage.drain(&relay).await;
    assert_eq!((stage.sent("a").await, sink.sequences("a")), (1, vec![1]));
}

/// (R2) Several relays over one outbox gave each other's messages of one aggregate out of order.
// shows: U3, hazard O2, sql::Relay
#[tokio::test]
async fn each_key_keeps_its_order_with_several_relays() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    let relays: Vec<_> = (0..3).map(|_| stage.relay(&sink).batch(6)).collect();
    let keys = ["a", "b", "c", "d"];
    for round in 0..10 {
        for key in keys {
            stage.publish(key, &format!("{key}{round}")).await;
        }
        join_all(relays.iter().map(|relay| async { relay.run_once().await.unwrap() })).await;
    }
    for relay in &relays {
        stage.drain(relay).await;
    }
    for key in keys {
        assert_eq!(sink.sequences(key), (1..=10).collect::<Vec<_>>(), "{key}");
        assert_eq!(stage.sent(key).await, 10);
    }
}

/// A unit of work with several messages of one key sends them in the order in which they were recorded, each with its
/// content.
#[tokio::test]
async fn messages_arrive_unchanged_and_in_order() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    let mut work = stage.keel.begin(&stage.pool).await.unwrap();
    work.trace("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    work.publish(Message::new("links", vec![0, 255]).key("kä'se").header("type", "made")).unwrap();
    work.publish(Message::new("links", "two").key("kä'se")).unwrap();
    work.publish(Message::new("audit", "other").key("kä'se")).unwrap();
    Box::pin(work.commit()).await.unwrap();
    stage.drain(&stage.relay(&sink)).await;
    let envelopes = sink.envelopes();
    let first = envelopes.iter().find(|envelope| envelope.payload[..] == [0, 255]).unwrap();
    let header = |name: &str| first.headers.iter().find(|(held, _)| held == name).map(|(_, value)| value.as_str());
    assert_eq!((first.topic.as_str(), header("type")), ("links", Some("made")));
    assert!(header("traceparent").is_some_and(|trace| trace.starts_with("00-0af7")));
    let order: Vec<_> =
        envelopes.iter().map(|envelope| (envelope.topic.as_str(), envelope.order.clone().unwrap())).collect();
    let of_links: Vec<u64> =
        order.iter().filter(|(topic, _)| *topic == "links").map(|(_, order)| order.sequence).collect();
    assert_eq!((of_links, order.len()), (vec![1, 2], 3));
    assert!(envelopes.iter().all(|envelope| envelope.source == first.source && !envelope.source.is_empty()));
}

/// A careless sink continues after a failure. The relay trusts its results up to the first failure only: if the key advanced
/// past it, the failed message would never be sent.
// shows: U3, hazard O2, sql::Relay
#[tokio::test]
async fn failure_holds_the_later_messages_of_its_key() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    sink.answer(|envelope| match &envelope.payload[..] {
        b"one" => Err(SinkError::Retry("not now".to_owned())),
        _ => Ok(Confirmed::Accepted),
    });
    for words in ["one", "two", "three"] {
        stage.publish("a", words).await;
    }
    let relay = stage.relay(&sink).sinks(Sinks::to(Careless(sink.clone())));
    let looked = relay.run_once().await.unwrap();
    assert_eq!((looked.sent, looked.failed, stage.sent("a").await), (0, 1, 0));
    sink.come_back();
    stage.due().await;
    stage.drain(&relay).await;
    assert_eq!(sink.taken(), ["two", "three", "one", "two", "three"]);
}
