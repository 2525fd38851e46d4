//! Settings and servers that a queue rejects when it is opened.

use evenkeel::Keel;
use evenkeel::queue::{Durability, QueueError};
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};

async fn refusal(keel: &Keel, durability: Durability) -> String {
    match keel.queue::<String>("mail").durability(durability).open().await {
        Err(error @ QueueError::Settings { .. }) => error.to_string(),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was opened"),
    }
}

/// A Redis that evicts keys loses jobs without an error: bodies first, because they are the largest keys.
// shows: hazard BL3, queue::QueueBuilder::open
#[tokio::test]
async fn redis_with_eviction_is_rejected_by_default() {
    let redis = Redis::start(RedisOptions::new().memory("64mb", "allkeys-lru")).await.unwrap();
    let keel = Keel::connect(&redis.url()).await.unwrap();
    let words = refusal(&keel, Durability::Memory).await;
    assert!(words.contains("allkeys-lru") && words.contains("allow_eviction"), "{words}");
    let allowed = keel.queue::<String>("mail").allow_eviction().open().await.unwrap();
    allowed.now(&"a".to_owned()).await.unwrap();
}

// shows: queue::Queue::with_durability, queue::QueueBuilder::open
#[tokio::test]
async fn disk_durability_requires_an_append_only_file() {
    let disk = Durability::Disk { timeout: Duration::from_secs(5) };
    let words = refusal(&Keel::memory(), disk).await;
    assert!(words.contains("embedded store"), "{words}");
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let words = refusal(&Keel::connect(&redis.url()).await.unwrap(), disk).await;
    assert!(words.contains("WAITAOF") || words.contains("appendonly yes"), "{words}");
}

// shows: hazard PO13, queue::QueueBuilder::open
#[tokio::test]
async fn invalid_queue_settings_are_rejected() {
    let keel = Keel::memory();
    for name in ["", "a b", "a{b}", "a:b", ".", "..", &"x".repeat(65)] {
        let refused = keel.queue::<String>(name).open().await.err().unwrap();
        assert!(refused.to_string().contains("its name must"), "{refused}");
    }
    // No address can contain these names.
    for name in [".", ".."] {
        let stream = keel.stream::<String>(name).open().await.err().unwrap();
        assert!(stream.to_string().contains("must not be `.` or `..`"), "{stream}");
    }
    let short = keel.queue::<String>("mail").visibility(Duration::from_millis(10)).open().await.err().unwrap();
    assert!(short.to_string().contains("between 1 s and 12 h"), "{short}");
    let mail = keel.queue::<String>("mail").open().await.unwrap();
    let idle = mail.consume(|_| async { Ok::<(), String>(()) }).concurrency(0).run(async {}).await.unwrap_err();
    assert!(idle.to_string().contains("between 1 and 10,000"), "{idle}");
}
