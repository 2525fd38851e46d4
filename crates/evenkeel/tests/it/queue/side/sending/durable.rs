//! Jobs that count as accepted once replicas or a disk have them.

use evenkeel::Keel;
use evenkeel::queue::{Durability, Queue, QueueError};
use evenkeel_protocol::queue::steps::Enqueued;
use std::time::Duration;
use testkit::eventually;
use testkit::servers::{Redis, RedisOptions};

const TIMEOUT: Duration = Duration::from_millis(300);

async fn mail(redis: &Redis, durability: Durability) -> Queue<String> {
    let keel = Keel::connect(&redis.url()).await.unwrap();
    keel.queue("mail").durability(durability).open().await.unwrap()
}

/// A primary that confirms before a replica has a copy takes accepted jobs with it.
// shows: queue::Queue::now, queue::JobBuilder::enqueue
#[tokio::test]
async fn enqueue_waits_for_the_configured_replicas() {
    let primary = Redis::start(RedisOptions::new()).await.unwrap();
    let alone = mail(&primary, Durability::Replicas { count: 1, timeout: TIMEOUT }).await;
    let refused = alone.job(&"a".to_owned()).id("a").enqueue().await.unwrap_err();
    let QueueError::NotDurable { ids, required: 1, reached: 0 } = &refused else { panic!("{refused}") };
    assert!(alone.find(&ids[0]).await.unwrap().is_some(), "it was taken, and the error says so");

    let replica = Redis::start(RedisOptions::new().replica_of(primary.port())).await.unwrap();
    eventually("the replica has copied the job", || {
        let mail = alone.clone();
        async move { mail.job(&"a".to_owned()).id("a").enqueue().await.ok() }
    })
    .await
    .unwrap();
    // With its first replica a primary begins a new history of its data, so the link opens a new epoch: send again then.
    let long_wait = Durability::Replicas { count: 1, timeout: Duration::from_secs(20) };
    let sent = eventually("a job that replicas have is accepted", || {
        let mail = alone.clone();
        async move { mail.with_durability(long_wait).await.ok()?.job(&"b".to_owned()).id("b").enqueue().await.ok() }
    });
    assert!(matches!(sent.await.unwrap().answer, Enqueued::Created | Enqueued::Duplicate));
    drop(replica);
}

/// A server that answers before its file has been flushed forgets accepted jobs in a power cut. Where there is no `WAITAOF` (Redis
/// before 7.2) the promise is refused; the matrix has servers with it.
// shows: queue::Queue::now, queue::JobBuilder::enqueue
#[tokio::test]
async fn enqueue_waits_for_the_disk_if_configured() {
    let redis = Redis::start(RedisOptions::new().append_only().arguments(["--appendfsync", "everysec"])).await.unwrap();
    let keel = Keel::connect(&redis.url()).await.unwrap();
    let disk = Durability::Disk { timeout: Duration::from_secs(20) };
    let known: Vec<Option<Vec<redis::Value>>> = redis.command(&["COMMAND", "INFO", "WAITAOF"]).await.unwrap();
    match keel.queue::<String>("mail").durability(disk).open().await {
        Err(refused) => {
            assert!(known[0].is_none(), "{refused}");
            assert!(refused.to_string().contains("WAITAOF"), "{refused}");
        }
        Ok(mail) => {
            assert!(known[0].is_some());
            let sent = mail.job(&"a".to_owned()).id("a").enqueue().await.unwrap();
            assert_eq!(sent.answer, Enqueued::Created);
            // Without waiting any longer: the file has it.
            let flushed: Vec<u32> = redis.command(&["WAITAOF", "1", "0", "1"]).await.unwrap();
            assert_eq!(flushed[0], 1);
            let short_wait =
                mail.with_durability(Durability::Disk { timeout: Duration::from_millis(1) }).await.unwrap();
            // A millisecond is too short for most flushes; but the result is true either way.
            match short_wait.job(&"b".to_owned()).id("b").enqueue().await {
                Ok(sent) => assert!(sent.is_new()),
                Err(QueueError::NotDurable { ids, required, reached }) => {
                    assert_eq!((ids.len(), required, reached), (1, 1, 0));
                    assert!(mail.find(&ids[0]).await.unwrap().is_some(), "it was taken, and the error says so");
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}
