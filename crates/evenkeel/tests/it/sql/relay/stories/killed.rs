//! (U1) A relay is killed inside its claim, and after a sink has taken a message but before that was written down.

use super::Db;
use super::pool;
use super::stage::Stage;
use evenkeel::Keel;
use evenkeel::link::LinkOptions;
use evenkeel::sql::relay::Relay;
use evenkeel::sql::sink::{Sinks, StreamSink};
use serde::{Deserialize, Serialize};
use testkit::park::{SharedRedis, redis};
use testkit::process::{Station, Worker};

#[derive(Clone, Serialize, Deserialize)]
struct Open {
    redis: String,
    prefix: String,
    database: String,
}

async fn keel(open: &Open) -> Keel {
    let mut options = LinkOptions::from_url(&open.redis).unwrap();
    options.prefix.clone_from(&open.prefix);
    Keel::builder().connect_with(options).await.unwrap()
}

fn relay(keel: &Keel, pool: &sqlx::Pool<Db>) -> Relay<Db> {
    keel.relay(pool).sinks(Sinks::to(StreamSink::new(keel)))
}

/// The relay loop in which a relay dies. It processes units of work first, so it reaches each point in that loop first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loop {
    Units,
    Keys,
}

/// Two keys of two messages and a job wait; a relay dies at `point`; another one does the rest.
async fn dies_at(point: &str, within: Loop) {
    let point = if within == Loop::Units { point.to_owned() } else { format!("{point}:2") };
    let stage = Stage::set().await;
    let shared: SharedRedis = redis().await.unwrap();
    let open = Open { redis: shared.url.clone(), prefix: shared.prefix.clone(), database: stage.database.url.clone() };
    let keel = keel(&open).await;
    let mail = keel.queue::<String>("mail").open().await.unwrap();
    for (key, words) in [("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2")] {
        stage.publish(key, words).await;
    }
    // Committed by a program that could not reach Redis.
    let elsewhere = stage.keel.queue::<String>("mail").open().await.unwrap();
    let mut work = stage.keel.begin(&stage.pool).await.unwrap();
    work.publish(evenkeel::sql::Message::new("unordered", "u")).unwrap();
    let job = work.enqueue(elsewhere.job(&"hello".to_owned())).unwrap();
    Box::pin(work.commit()).await.unwrap();
    stage.due().await;

    let path = format!("{}::relay_to_be_killed", module_path!().trim_start_matches("it::"));
    let mut worker = Worker::start_with(&path, &[("EVENKEEL_CRASH_AT", &point)]).unwrap();
    worker.say(&open).unwrap();
    worker.process().wait().await.unwrap();
    assert_eq!(stage.outbox_rows(1).await, i64::from(within == Loop::Units), "it died before it could write this down");
    assert_eq!((stage.sent("a").await, stage.sent("b").await), (0, 0), "nor this");

    stage.due().await;
    let relay = relay(&keel, &stage.pool);
    stage.drain(&relay).await;
    let stream = StreamSink::new(&keel);
    let ordered: Vec<String> = stream
        .entries("links", None, 100)
        .await
        .unwrap()
        .iter()
        .map(|entry| String::from_utf8_lossy(&entry.message.payload).into_owned())
        .collect();
    let of = |key: char| ordered.iter().filter(|words| words.starts_with(key)).cloned().collect::<Vec<_>>();
    assert_eq!(
        (of('a'), of('b'), ordered.len()),
        (vec!["a1".to_owned(), "a2".to_owned()], vec!["b1".to_owned(), "b2".to_owned()], 4)
    );
    assert!(!stream.entries("unordered", None, 100).await.unwrap().is_empty());
    let (steps, shard) = mail.steps(&job);
    let found = steps.job(&shard, job).await.unwrap();
    assert!(found.is_some(), "the job waits in Redis");
    assert_eq!((stage.outbox_rows(1).await, stage.sent("a").await, stage.sent("b").await), (0, 2, 2));
}

// shows: U3
#[tokio::test]
async fn relay_killed_during_a_claim_loses_nothing() {
    Box::pin(dies_at("relay_claimed", Loop::Units)).await;
}

// shows: U3
#[tokio::test]
async fn relay_killed_during_a_claim_of_keys_loses_nothing() {
    Box::pin(dies_at("relay_claimed", Loop::Keys)).await;
}

// shows: U3, sql::Relay
#[tokio::test]
async fn relay_killed_after_carrying_out_loses_nothing() {
    Box::pin(dies_at("relay_published", Loop::Units)).await;
}

/// The first form of this test let the relay die in the other loop, before it had published anything.
// shows: U3
#[tokio::test]
async fn relay_killed_after_publishing_repeats_no_ordered_message() {
    Box::pin(dies_at("relay_published", Loop::Keys)).await;
}

/// A process that runs both loops until it dies.
#[tokio::test]
#[ignore = "a worker of `dies_at`"]
async fn relay_to_be_killed() {
    let Some(mut station) = Station::open().unwrap() else { return };
    let open: Open = station.receive().await.unwrap();
    let pool = pool(&open.database).await;
    relay(&keel(&open).await, &pool).run_once().await.unwrap();
    panic!("it was to die");
}
