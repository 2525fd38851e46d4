//! Windows that are open only once replicas of Redis have them.

use crate::cache::reads::db::{Db, DbError};
use evenkeel::Keel;
use evenkeel::cache::{Cache, CacheError, Freshness, WhileWriting, WriteError};
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};

/// A failover promotes a replica that does not have the window: a reader there loads the row as it was before the commit.
// shows: cache::Cache::begin_write, cache::Cache::begin_write_many
#[tokio::test]
async fn write_waits_until_replicas_confirm_the_window() {
    let primary = Redis::start(RedisOptions::new()).await.unwrap();
    let _replica = Redis::start(RedisOptions::new().replica_of(primary.port())).await.unwrap();
    let db = Db::with("old");

    let rows = open(&primary, 1, Duration::from_secs(20)).await;
    let written = rows.write(&1, || write(&db, "new")).await.unwrap();
    assert!(written.window.is_closed());

    let rows = open(&primary, 2, Duration::from_millis(20)).await;
    let error = rows.write(&1, || write(&db, "newer")).await.unwrap_err();
    let WriteError::NotBegun(error) = error else { panic!("{error}") };
    assert!(matches!(error, CacheError::WindowNotReplicated { required: 2, confirmed: 1 }), "{error}");
    assert!(error.is_retryable());
    let found = rows.get_with(&1, Freshness::Fresh, |key| db.find(*key)).await.unwrap();
    assert_eq!(found.value.as_deref().map(String::as_str), Some("new"), "nothing was written, and no window is open");
}

/// The embedded store has no replicas to wait for.
// shows: cache::CacheBuilder::open
#[tokio::test]
async fn embedded_store_rejects_replicated_windows() {
    let rows = Keel::memory().cache::<u64, String>("row").ttl(Duration::from_secs(600));
    let error = rows.windows_on_replicas(1, Duration::from_secs(1)).open().await.unwrap_err().to_string();
    assert!(error.contains("has no replicas"), "{error}");
}

async fn open(redis: &Redis, replicas: u32, timeout: Duration) -> Cache<u64, String> {
    let keel = Keel::connect(&redis.url()).await.unwrap();
    let rows = keel.cache("row").ttl(Duration::from_secs(600)).windows_on_replicas(replicas, timeout);
    rows.while_writing(WhileWriting::Fail).open().await.unwrap()
}

async fn write(db: &Db, row: &str) -> Result<(), DbError> {
    db.write(1, row);
    Ok(())
}
