//! Outages of Redis, and a Redis that has lost writes.

use crate::cache::reads::db::Db;
use crate::cache::reads::rig::{Rows, find, get, reader, row, some};
use evenkeel::Keel;
use evenkeel::cache::{CacheError, Tier};
use evenkeel::link::LinkState;
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};
use tokio::time::timeout;

/// Far above what any recovery takes; a test that hangs fails instead.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A Redis of the test's own, a keel that detects failures quickly, and a cache.
async fn fleet() -> (Redis, Keel, Rows) {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let url = format!("{}?response_timeout_ms=100&connect_timeout_ms=200&heartbeat_ms=100", redis.url());
    let keel = Keel::connect(&url).await.unwrap();
    let rows = keel.cache("row").ttl(Duration::from_secs(600)).lease(Duration::from_millis(200)).open().await.unwrap();
    (redis, keel, rows)
}

async fn until(keel: &Keel, what: &str, expected: impl FnMut(&LinkState) -> bool) {
    let mut state = keel.link().unwrap().state();
    let seen = timeout(TIMEOUT, state.wait_for(expected)).await;
    assert!(seen.is_ok_and(|seen| seen.is_ok()), "{what}");
}

async fn until_up_again(keel: &Keel, epoch: u64) {
    until(keel, "the link came back", |state| matches!(state, LinkState::Up { epoch: now } if *now > epoch)).await;
}

fn epoch(keel: &Keel) -> u64 {
    keel.link().unwrap().epoch().map_or(0, |epoch| epoch.number())
}

/// 200 readers of 200 keys are all served, and never more than 64 loads run at once.
async fn all_are_served_within_the_bound(rows: &Rows) {
    let db = Db::new();
    let held: Vec<_> = (0..200).map(|_| db.hold()).collect();
    let readers: Vec<_> = (1_000..1_200_u64)
        .map(|key| {
            let (rows, db) = (rows.clone(), db.clone());
            tokio::spawn(async move { rows.get(&key, |key| db.find(*key)).await })
        })
        .collect();
    db.until_loads(64).await;
    for mut load in held {
        load.reached().await;
        load.release();
    }
    for reader in readers {
        assert_eq!(reader.await.unwrap().unwrap(), None);
    }
    assert_eq!((db.loads(), db.peak()), (200, 64));
}

// shows: cache::Cache::get
#[tokio::test]
async fn killed_redis_costs_at_most_loads_max_until_restart() {
    let (mut redis, keel, rows) = fleet().await;
    let db = Db::with("a");
    get(&rows, &db).await;
    let before = epoch(&keel);
    redis.kill().unwrap();
    assert_eq!(get(&rows, &db).await, some("a"));
    all_are_served_within_the_bound(&rows).await;
    redis.restart().await.unwrap();
    until_up_again(&keel, before).await;
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Loader, "it was empty");
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Store);
}

// shows: C9, cache::Cache::get
#[tokio::test]
async fn silent_redis_costs_at_most_loads_max_until_resumed() {
    let (mut redis, keel, rows) = fleet().await;
    let db = Db::with("a");
    get(&rows, &db).await;
    let before = epoch(&keel);
    redis.pause().unwrap();
    assert_eq!(get(&rows, &db).await, some("a"), "after the response timeout");
    until(&keel, "the silence is noticed", |state| !state.is_up()).await;
    all_are_served_within_the_bound(&rows).await;
    redis.resume().unwrap();
    until_up_again(&keel, before).await;
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Store);
}

// shows: hazard D26
#[tokio::test]
async fn flushed_redis_costs_at_most_loads_max() {
    let (redis, _keel, rows) = fleet().await;
    let db = Db::with("a");
    get(&rows, &db).await;
    redis.command::<()>(&["FLUSHALL"]).await.unwrap();
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Loader);
    all_are_served_within_the_bound(&rows).await;
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Store);
}

// shows: cache::Cache::get
#[tokio::test]
async fn demoted_redis_costs_at_most_loads_max() {
    let (redis, keel, rows) = fleet().await;
    let db = Db::with("a");
    get(&rows, &db).await;
    let before = epoch(&keel);
    redis.command::<()>(&["REPLICAOF", "127.0.0.1", "1"]).await.unwrap();
    let refused = rows.invalidate(&1).await.unwrap_err();
    assert!(refused.is_retryable(), "{refused}");
    until(&keel, "the link leaves a replica", |state| !state.is_up()).await;
    assert_eq!(get(&rows, &db).await, some("a"));
    all_are_served_within_the_bound(&rows).await;
    redis.command::<()>(&["REPLICAOF", "NO", "ONE"]).await.unwrap();
    until_up_again(&keel, before).await;
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Loader, "the invalidation was replayed");
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Store);
}

/// C7 and C8: a write made while Redis is away commits; no reader is served the older value once Redis is back.
// shows: C7, hazard D27, cache::Cache::invalidate, cache::Cache::purge
#[tokio::test]
async fn unsent_invalidation_is_replayed_before_hits() {
    let (mut redis, keel, rows) = fleet().await;
    let db = Db::with("old");
    get(&rows, &db).await;
    let before = epoch(&keel);
    redis.pause().unwrap();
    db.write(1, "new");
    match rows.invalidate(&1).await {
        Err(CacheError::Link(error)) => assert!(error.is_retryable() && error.outcome_unknown(), "{error}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(get(&rows, &db).await, some("new"), "from the database");
    until(&keel, "the silence is noticed", |state| !state.is_up()).await;
    assert_eq!(get(&rows, &db).await, some("new"));
    redis.resume().unwrap();
    until_up_again(&keel, before).await;
    assert_eq!(get(&rows, &db).await, some("new"));
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Store, "and it is a hit again");
}

/// C8: a Redis that is restarted from a snapshot restores values that were invalidated since. No notification reports that.
// shows: C8, hazard H3, hazard H13, hazard D11
#[tokio::test]
async fn lost_invalidation_is_replayed_before_hits() {
    let (mut redis, keel, rows) = fleet().await;
    let db = Db::with("old");
    get(&rows, &db).await;
    redis.command::<()>(&["SAVE"]).await.unwrap();
    db.write(1, "new");
    rows.invalidate(&1).await.unwrap();
    assert_eq!(get(&rows, &db).await, some("new"));
    let before = epoch(&keel);
    redis.kill().unwrap();
    redis.restart().await.unwrap();
    until_up_again(&keel, before).await;
    assert_eq!(get(&rows, &db).await, some("new"));
}

/// A lease ends with its epoch: after a reconnect, the server may have lost writes.
// shows: C8, hazard H13
#[tokio::test]
async fn load_across_lost_connection_is_not_stored() {
    let (redis, keel, rows) = fleet().await;
    let db = Db::with("a");
    let before = epoch(&keel);
    let (mut load, waiting) = (db.hold(), reader(&rows, &db));
    load.reached().await;
    redis.command::<()>(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]).await.unwrap();
    until_up_again(&keel, before).await;
    load.release();
    assert_eq!(row(waiting).await, some("a"));
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Loader);
}

/// One key whose invalidation the server rejects must not keep a healthy epoch from all other callers.
// shows: C7, cache::Cache::invalidate, cache::Cache::purge
#[tokio::test]
async fn rejected_invalidation_does_not_block_other_keys() {
    let (redis, keel, rows) = fleet().await;
    let db = Db::with("old");
    get(&rows, &db).await;
    let before = epoch(&keel);
    // This user may read the entry of row 1, and change any other one.
    let others = ["%R~*", "~evenkeel:[^c]*", "~evenkeel:c:row:{[^1]}"];
    redis.command::<()>(&[&["ACL", "SETUSER", "default", "resetkeys"][..], &others[..]].concat()).await.unwrap();
    db.write(1, "new");
    let refused = rows.invalidate(&1).await.unwrap_err();
    assert!(!refused.is_retryable(), "{refused}");
    assert_eq!(get(&rows, &db).await, some("new"));
    redis.command::<()>(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]).await.unwrap();
    until_up_again(&keel, before).await;
    let other = rows.get(&2, |key| db.find(*key)).await.unwrap();
    assert_eq!(other, None);
    assert_eq!(get(&rows, &db).await, some("new"), "this key alone is read past Redis");
}

/// Before, a reader of a silent Redis waited for all of the link's timeout, and so did the next one.
// shows: C9
#[tokio::test]
async fn read_of_silent_redis_ends_after_store_timeout() {
    let mut redis = Redis::start(RedisOptions::new()).await.unwrap();
    let url = format!("{}?response_timeout_ms=600000&heartbeat_ms=600000", redis.url());
    let keel = Keel::connect(&url).await.unwrap();
    let brief = Duration::from_millis(20);
    let rows: Rows =
        keel.cache("row").ttl(Duration::from_secs(600)).store_timeout(brief).breaker(3, brief).open().await.unwrap();
    let db = Db::with("a");
    timeout(TIMEOUT, until_stored(&rows, &db)).await.unwrap();
    redis.pause().unwrap();
    for _ in 0..5 {
        let found = timeout(TIMEOUT, find(&rows, &db)).await.expect("it asks the database").unwrap();
        assert_eq!(found.tier, Tier::Loader);
    }
    assert_eq!(epoch(&keel), 1, "the link goes on waiting");
    redis.resume().unwrap();
    timeout(TIMEOUT, until_stored(&rows, &db)).await.expect("the breaker closes");
    assert_eq!(epoch(&keel), 1);
}

/// Reads until the store responds, which may take long on a loaded machine.
async fn until_stored(rows: &Rows, db: &Db) {
    while find(rows, db).await.unwrap().tier != Tier::Store {
        tokio::task::yield_now().await;
    }
}

/// Failures of an earlier epoch do not count: reads are hits again as soon as the link has reconnected.
#[tokio::test]
async fn new_connection_closes_the_breaker() {
    let (mut redis, keel, _) = fleet().await;
    let hour = Duration::from_secs(3_600);
    let rows: Rows = keel.cache("other").ttl(hour).breaker(1, hour).open().await.unwrap();
    let db = Db::with("a");
    get(&rows, &db).await;
    let before = epoch(&keel);
    redis.pause().unwrap();
    get(&rows, &db).await;
    until(&keel, "the silence is noticed", |state| !state.is_up()).await;
    redis.resume().unwrap();
    until_up_again(&keel, before).await;
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Store);
}
