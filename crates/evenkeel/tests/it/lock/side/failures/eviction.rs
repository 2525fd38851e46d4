//! Servers that remove keys when their memory is full.

use crate::log::Log;
use evenkeel::Keel;
use evenkeel::lock::ReleaseOutcome;
use testkit::eventually;
use testkit::servers::{Redis, RedisOptions};

/// Takes an exclusive lock and permits, and releases them.
async fn use_locks(keel: &Keel) {
    let guard = keel.lock("stock/42").acquire().await.unwrap();
    let permits = keel.semaphore("exports", 1).acquire().await.unwrap();
    assert_eq!(guard.release().await.unwrap(), ReleaseOutcome::Released);
    assert_eq!(permits.release().await.unwrap(), ReleaseOutcome::Released);
}

/// A full server with `volatile-lru` removed 8 of 8 locks, which were then granted again, and no log had a warning.
// shows: hazard BL3
#[tokio::test]
async fn locks_on_a_server_that_evicts_are_warned_of_once() {
    let redis = Redis::start(RedisOptions::new().memory("64mb", "volatile-lru")).await.unwrap();
    let keel = Keel::connect(&redis.url()).await.unwrap();
    let log = Log::begin();
    use_locks(&keel).await;
    eventually("a warning", async || (!log.lacks("volatile-lru")).then_some(())).await.unwrap();
    use_locks(&keel).await;
    log.says(&["set maxmemory-policy to noeviction"]);
}
