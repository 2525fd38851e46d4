//! C7 with a spool: an invalidation that Redis does not accept outlives its process.

use evenkeel::cache::{Cache, CacheError, Invalidated, Tier};
use evenkeel::spool::{PendingEffect, Spool, SpoolOptions};
use evenkeel::{Keel, link::LinkState};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::eventually_within;
use testkit::process::{Station, Worker};
use testkit::servers::{Redis, RedisOptions};

type Rows = Cache<u64, String>;

/// What the keys of the cache begin with.
const TOPIC: &str = "evenkeel:c:row";

async fn rows(keel: &Keel) -> Rows {
    keel.cache("row").ttl(Duration::from_secs(600)).open().await.unwrap()
}

/// A keel that notices trouble quickly, with a spool.
async fn keel(url: &str, dir: &Path) -> Keel {
    let url = format!("{url}?response_timeout_ms=100&connect_timeout_ms=200&heartbeat_ms=100");
    let builder = Keel::builder().spool(dir, SpoolOptions::default()).await.unwrap();
    builder.connect(&url).await.unwrap()
}

/// Reads `key`; the database has `text` now.
async fn read(rows: &Rows, key: u64, text: &str) -> (String, Tier) {
    let text = text.to_owned();
    let load = async move { Ok::<_, Infallible>(Some(text)) };
    let found = rows.get_with(&key, evenkeel::cache::Freshness::Eventual, |_| load).await.unwrap();
    (found.value.unwrap().to_string(), found.tier)
}

fn pending(keel: &Keel) -> usize {
    keel.spool().unwrap().stats().pending
}

/// Waits until Redis has accepted all pending invalidations.
async fn until_nothing_pending(keel: &Keel) {
    eventually_within(Duration::from_secs(20), "nothing is pending", async || (pending(keel) == 0).then_some(()))
        .await
        .unwrap();
}

// shows: C7, cache::Cache::invalidate, keel::KeelBuilder::spool
#[tokio::test]
async fn unsent_invalidation_is_deferred_and_replayed() {
    let mut redis = Redis::start(RedisOptions::new()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let keel = keel(&redis.url(), folder.path()).await;
    let rows = rows(&keel).await;
    read(&rows, 1, "old").await;
    read(&rows, 2, "old").await;
    assert_eq!(rows.invalidate(&3).await.unwrap(), Invalidated::Done);
    assert_eq!(pending(&keel), 0, "what Redis takes never touches the file");
    redis.pause().unwrap();
    assert_eq!(rows.invalidate(&1).await.unwrap(), Invalidated::Deferred);
    assert_eq!(rows.invalidate_many(&[1, 2]).await.unwrap(), Invalidated::Deferred);
    assert_eq!(rows.purge(&2).await.unwrap(), Invalidated::Deferred);
    assert_eq!(pending(&keel), 2, "one for each key");
    assert_eq!(read(&rows, 1, "new").await, ("new".to_owned(), Tier::Loader));
    redis.resume().unwrap();
    until_nothing_pending(&keel).await;
    let elsewhere = Keel::connect(&redis.url()).await.unwrap();
    for key in [1, 2] {
        assert_eq!(read(&self::rows(&elsewhere).await, key, "new").await.0, "new");
    }
}

#[derive(Serialize, Deserialize)]
struct Open {
    url: String,
    dir: PathBuf,
}

/// The process with the pending invalidation is killed, and Redis returns later: the next process replays it without being
/// asked.
// shows: C7, hazard D27, keel::KeelBuilder::spool
#[tokio::test]
async fn invalidation_of_a_killed_process_is_replayed_by_the_next() {
    let mut redis = Redis::start(RedisOptions::new()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut process = Worker::start("spool::invalidations::writer").unwrap();
    process.say(&Open { url: redis.url(), dir: folder.path().to_owned() }).unwrap();
    assert_eq!(process.receive::<String>().await.unwrap(), "read");
    // A server that was only stopped would find the command in its socket.
    redis.command::<()>(&["SAVE"]).await.unwrap();
    redis.kill().unwrap();
    process.say("invalidate").unwrap();
    assert_eq!(process.receive::<String>().await.unwrap(), "Deferred");
    process.process().kill().unwrap();
    redis.restart().await.unwrap();
    let elsewhere = Keel::connect(&redis.url()).await.unwrap();
    let elsewhere = rows(&elsewhere).await;
    assert_eq!(read(&elsewhere, 1, "new").await, ("old".to_owned(), Tier::Store), "no other process knows of it");
    let next = keel(&redis.url(), folder.path()).await;
    assert_eq!(pending(&next), 1);
    let rows = rows(&next).await;
    assert_eq!(read(&rows, 1, "new").await.0, "new", "the next process does not believe the store");
    until_nothing_pending(&next).await;
    assert_eq!(read(&elsewhere, 1, "new").await.0, "new");
    drop((rows, next));
}

#[tokio::test]
#[ignore = "a worker of `invalidation_of_a_killed_process_is_replayed_by_the_next`"]
async fn writer() {
    let Some(mut station) = Station::open().unwrap() else { return };
    let Open { url, dir } = station.receive().await.unwrap();
    let keel = keel(&url, &dir).await;
    let rows = rows(&keel).await;
    read(&rows, 1, "old").await;
    station.say("read").unwrap();
    assert_eq!(station.receive::<String>().await.unwrap(), "invalidate");
    let answer = rows.invalidate(&1).await.unwrap();
    station.say(&format!("{answer:?}")).unwrap();
    station.until_finish().await;
}

/// A full spool must not acknowledge a record that it has not stored.
// shows: C7, cache::Cache::invalidate
#[tokio::test]
async fn invalidation_with_a_full_spool_is_an_error() {
    let mut redis = Redis::start(RedisOptions::new()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let url = format!("{}?response_timeout_ms=100&connect_timeout_ms=200&heartbeat_ms=100", redis.url());
    let options = SpoolOptions::default().segment_bytes(256).bytes_max(256);
    let keel = Keel::builder().spool(folder.path(), options).await.unwrap().connect(&url).await.unwrap();
    let rows = rows(&keel).await;
    keel.spool().unwrap().append(PendingEffect::write("other", "k", vec![0; 200])).await.unwrap();
    redis.pause().unwrap();
    match rows.invalidate(&1).await {
        Err(CacheError::Link(error)) => assert!(error.is_retryable(), "{error}"),
        other => panic!("{other:?}"),
    }
    let mut state = keel.link().unwrap().state();
    state.wait_for(|state| !matches!(state, LinkState::Up { .. })).await.unwrap();
    redis.resume().unwrap();
}

/// The caller gave up while Redis was silent: it got no result, and the invalidation is in the file all the same.
// shows: C7
#[tokio::test]
async fn dropped_invalidation_is_in_the_spool() {
    let mut redis = Redis::start(RedisOptions::new()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let keel = keel(&redis.url(), folder.path()).await;
    let rows = rows(&keel).await;
    redis.pause().unwrap();
    {
        let mut invalidation = std::pin::pin!(rows.invalidate(&1));
        std::future::poll_fn(|context| {
            assert!(invalidation.as_mut().poll(context).is_pending());
            std::task::Poll::Ready(())
        })
        .await;
    }
    keel.spool().unwrap().sync().await.unwrap();
    assert_eq!(pending(&keel), 1);
    keel.spool().unwrap().close().await.unwrap();
    let spool = Spool::open(folder.path(), SpoolOptions::default()).await.unwrap();
    assert_eq!(spool.pending(TOPIC, 10)[0].effect.key, "1");
    redis.resume().unwrap();
}
