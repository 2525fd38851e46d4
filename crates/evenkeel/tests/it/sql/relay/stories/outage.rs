//! Redis dies under a running relay, and returns: everything arrives then, in order, without an operator.

use super::pool;
use super::stage::Stage;
use evenkeel::Keel;
use evenkeel::queue::JobId;
use evenkeel::sql::Message;
use evenkeel::sql::sink::{Sinks, StreamSink};
use std::time::Duration;
use testkit::eventually;
use testkit::servers::{Redis, RedisOptions};
use tokio::sync::oneshot;

const KEYS: [&str; 3] = ["a", "b", "c"];

/// Commits a message for each key, one without a key, and a job; by a program that does not reach Redis.
async fn commit(stage: &Stage, round: u32) {
    let mail = stage.keel.queue::<u32>("mail").open().await.unwrap();
    for key in KEYS {
        stage.publish(key, &format!("{key}{round}")).await;
    }
    let mut work = stage.keel.begin(&stage.pool).await.unwrap();
    work.publish(Message::new("unordered", round.to_string())).unwrap();
    work.enqueue(mail.job(&round).id(round.to_string())).unwrap();
    Box::pin(work.commit()).await.unwrap();
    stage.works_due().await;
}

// shows: U3, sql::Effects
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn running_relay_loses_nothing_when_redis_dies() {
    let stage = Stage::set().await;
    let safe = RedisOptions::new().arguments(["--appendonly", "yes", "--appendfsync", "always"]);
    let mut redis = Redis::start(safe).await.unwrap();
    let keel = Keel::connect(&redis.url()).await.unwrap();
    let stream = StreamSink::new(&keel);
    let own = pool(&stage.database.url).await;
    let relay = keel.relay(&own).sinks(Sinks::to(stream.clone())).attempts_max(2);
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(async move { relay.run(async { _ = stopped.await }).await });
    for round in 0..6 {
        commit(&stage, round).await;
        match round {
            1 => redis.kill().unwrap(),
            3 => redis.restart().await.unwrap(),
            _ => {}
        }
    }
    let left = "SELECT COUNT(*) FROM evenkeel_outbox_ordered";
    let done = || async { (stage.outbox_rows(1).await + stage.number(left).await == 0).then_some(()) };
    eventually("everything is carried out", done).await.unwrap();
    stop.send(()).unwrap();
    running.await.unwrap();
    let parked = "SELECT COUNT(*) FROM evenkeel_outbox_keys WHERE parked_at IS NOT NULL";
    assert_eq!((stage.outbox_rows(4).await, stage.number(parked).await), (0, 0), "an outage is no failed attempt");
    let entries = stream.entries("links", None, 100).await.unwrap();
    for key in KEYS {
        let of = entries.iter().filter_map(|entry| Some((entry, entry.message.order.as_ref()?)));
        let sequences: Vec<u64> = of.filter(|(_, order)| order.key == key).map(|(_, order)| order.sequence).collect();
        assert_eq!(sequences, (1..=6).collect::<Vec<_>>(), "{key}");
    }
    let mail = keel.queue::<u32>("mail").open().await.unwrap();
    for round in 0..6 {
        assert!(mail.find(&JobId::named(round.to_string().as_bytes())).await.unwrap().is_some(), "job {round}");
    }
    let unordered = tokio::time::timeout(Duration::from_secs(10), stream.entries("unordered", None, 100)).await;
    assert!(unordered.unwrap().unwrap().len() >= 6);
}
