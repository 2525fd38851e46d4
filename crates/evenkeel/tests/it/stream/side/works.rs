//! Entries that a unit of work appends: after the commit, in the order of commits per key, each once.

use super::rig::{Desk, Rig, all_settled, open};
use bytes::Bytes;
use evenkeel::Keel;
use evenkeel::sql::sink::{Confirmed, Envelope, Order, SinkError, Sinks};
use evenkeel::sql::{SqlError, migrate};
use evenkeel::stream::admin::Peeked;
use evenkeel::stream::{EntryId, OnFailure, Stream};
use sqlx::SqlitePool;
use sqlx::sqlite::SqlitePoolOptions;

on_both! {
    entries_of_units_of_work_follow_their_commits
    entry_that_a_unit_of_work_cannot_append_is_rejected
    sequence_is_appended_once
    gap_in_the_sequences_is_closed
    append_creates_what_redis_has_lost
    message_that_is_not_an_append_is_rejected
}

type Orders = Stream<String>;

async fn orders(keel: &Keel) -> Orders {
    keel.stream("orders").partitions(2).open().await.unwrap()
}

/// A database in memory; one connection, because each would have a database of its own.
async fn database() -> SqlitePool {
    let pool = SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await.unwrap();
    migrate(&pool).await.unwrap();
    pool
}

async fn log(orders: &Orders) -> Vec<Peeked> {
    let mut all = Vec::new();
    for partition in 0..2 {
        all.extend(orders.admin().peek(partition, EntryId::MIN, 100).await.unwrap());
    }
    all
}

// shows: T1, hazard BW5, sql::Effects::append
async fn entries_of_units_of_work_follow_their_commits(rig: Rig) {
    let (keel, pool) = (rig.process().await, database().await);
    let orders = orders(&keel).await;
    for value in ["placed", "paid"] {
        let mut work = keel.begin(&pool).await.unwrap();
        work.trace("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        work.append(orders.entry("order/7", &value.to_owned()).header("from", "shop")).unwrap();
        work.commit().await.unwrap();
    }
    let mut never = keel.begin(&pool).await.unwrap();
    never.append(orders.entry("order/7", &"canceled".to_owned())).unwrap();
    never.rollback().await.unwrap();
    assert_eq!(log(&orders).await, [], "only a relay appends");

    let relay = rig.process().await;
    // (An append waited forever, without a word, for a relay with a route) It has no sinks.
    let relay = relay.relay(&pool);
    while !relay.run_once().await.unwrap().is_idle() {}
    let desk = Desk::new();
    let office = open(desk.consumer(orders.group("billing").per_key(OnFailure::BlockKey)));
    let first = desk.next().await;
    assert_eq!((first.entry.value.as_str(), first.entry.headers()["from"].as_str()), ("placed", "shop"));
    assert_eq!(first.entry.trace(), Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
    first.done();
    assert_eq!(desk.done().await, "paid");
    all_settled(&orders).await;
    assert_eq!(log(&orders).await.len(), 2);
    office.close().await;
}

// shows: hazard A12, sql::Effects::append
async fn entry_that_a_unit_of_work_cannot_append_is_rejected(rig: Rig) {
    let (keel, pool) = (rig.process().await, database().await);
    let (orders, value) = (orders(&keel).await, "x".to_owned());
    let elsewhere: Orders = Keel::memory().stream("orders").open().await.unwrap();
    let small: Orders = keel.stream("orders").value_bytes_max(1).open().await.unwrap();
    let mut work = keel.begin(&pool).await.unwrap();
    let long = "k".repeat(256);
    for refused in [
        work.append(orders.entry("", &value)),
        work.append(orders.entry("a\0b", &value)),
        work.append(orders.entry([0xff], &value)),
        work.append(orders.entry(&long, &value)),
        work.append(orders.entry("a", &value).numbered("me", 1)),
        work.append(elsewhere.entry("a", &value)),
        work.append(small.entry("a", &value)),
    ] {
        assert!(matches!(&refused, Err(SqlError::Effect(sentence)) if !sentence.is_empty()), "{refused:?}");
    }
    work.append(orders.entry(&long[1..], &value)).unwrap();
    work.rollback().await.unwrap();
}

fn envelope(sequence: u64) -> Envelope {
    Envelope {
        source: "shop".to_owned(),
        id: format!("{sequence}"),
        topic: "evenkeel.stream/orders".to_owned(),
        order: Some(Order { key: "a".to_owned(), sequence }),
        payload: Bytes::from(format!("{sequence}")),
        headers: vec![("partitions".to_owned(), "2".to_owned()), ("codec".to_owned(), "1".to_owned())],
    }
}

async fn publish(keel: &Keel, sequences: &[u64]) -> Vec<Result<Confirmed, SinkError>> {
    let all: Vec<Envelope> = sequences.iter().copied().map(envelope).collect();
    Sinks::none().streams(keel).publish_all(&all).await
}

/// A relay that was paused sends what another one has sent meanwhile.
// shows: T1, sql::Effects::append
async fn sequence_is_appended_once(rig: Rig) {
    let keel = rig.process().await;
    let orders = orders(&keel).await;
    assert_eq!(publish(&keel, &[1, 2, 3]).await, vec![Ok(Confirmed::Accepted); 3]);
    assert_eq!(publish(&rig.process().await, &[1, 2]).await, vec![Ok(Confirmed::Duplicate); 2]);
    assert_eq!(publish(&keel, &[3, 4]).await, [Ok(Confirmed::Duplicate), Ok(Confirmed::Accepted)]);
    assert_eq!(log(&orders).await.len(), 4);
}

/// An operator has skipped a message, or Redis has lost the entries between. Waiting for them would hold the key back forever.
// shows: T1
async fn gap_in_the_sequences_is_closed(rig: Rig) {
    let keel = rig.process().await;
    let orders = orders(&keel).await;
    assert_eq!(publish(&keel, &[1]).await, [Ok(Confirmed::Accepted)]);
    assert_eq!(publish(&keel, &[3, 4]).await, vec![Ok(Confirmed::Accepted); 2]);
    assert_eq!(publish(&keel, &[2]).await, [Ok(Confirmed::Duplicate)]);
    assert_eq!(log(&orders).await.len(), 3);
}

// shows: T1
async fn append_creates_what_redis_has_lost(rig: Rig) {
    let keel = rig.process().await;
    // No program has opened the stream since Redis was flushed.
    assert_eq!(publish(&keel, &[7]).await, [Ok(Confirmed::Accepted)]);
    assert_eq!(log(&orders(&keel).await).await.len(), 1);
}

async fn message_that_is_not_an_append_is_rejected(rig: Rig) {
    let keel = rig.process().await;
    let sinks = Sinks::none().streams(&keel);
    let unordered = Envelope { order: None, ..envelope(1) };
    let bare = Envelope { headers: Vec::new(), ..envelope(1) };
    let misnamed = Envelope { topic: "evenkeel.stream/a b".to_owned(), ..envelope(1) };
    for wrong in [unordered, bare, misnamed] {
        let answer = sinks.publish_all(&[wrong]).await;
        assert!(matches!(answer[..], [Err(SinkError::Poison(_))]), "{answer:?}");
    }
}
