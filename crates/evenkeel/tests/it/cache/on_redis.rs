//! Tests that need a real Redis: expiry of its keys, keys of another type, exhausted memory.

use evenkeel::Token;
use evenkeel::cache::CacheError;
use evenkeel_protocol::cache::steps::{CacheSteps, Ended, Filled, Leased, Why};
use redis::Value;
use testkit::conformance::cache::player::{LIFE_MS, Player, asked, expiring, granted, loaded};
use testkit::conformance::cache::{Backend, OnRedis};
use testkit::servers::{Redis, RedisOptions};

const KEY: &[u8] = b"user/42";

/// rockscache creates its key without an expiry: when the loader dies, the key stays forever. Every key that a step leaves
/// here expires, and not later than its header says.
// shows: hazard H4, spec/cache.md
#[tokio::test]
async fn every_step_leaves_an_expiry_on_the_key() {
    let redis = OnRedis::start().await.unwrap();
    let cache = Player::new(&redis);
    let expires = async |after: &str| {
        let Value::Int(left_ms) = redis.command("PTTL", KEY).await else { panic!("no number") };
        let left_ms = u64::try_from(left_ms).unwrap_or_else(|_| panic!("no expiry after {after}"));
        let ends_ms = cache.header().await.ends_at_ms - redis.now_ms();
        assert!(left_ms <= ends_ms, "after {after}: {left_ms} ms are left, the header says {ends_ms}");
    };
    let ask = asked(Why::Miss);
    let grant = granted(cache.lease_with(&ask).await);
    expires("lease").await;
    cache.abandon(ask.token, 1_000).await;
    expires("abandon").await;
    cache.fill(grant, "v1").await;
    expires("fill").await;
    cache.expire().await;
    expires("invalidate").await;
    let writer = Token::random();
    cache.begin(writer).await;
    expires("begin_write").await;
    cache.renew(writer).await;
    expires("renew_write").await;
    cache.end(writer).await;
    expires("end_write").await;
}

/// The key holds a list instead of an entry. A reader finds nothing in it, an invalidation deletes it, and a lease or a
/// window replaces it.
#[tokio::test]
async fn key_of_another_type_is_treated_as_a_miss() {
    let redis = OnRedis::start().await.unwrap();
    redis.push(KEY).await;
    assert!(redis.steps().read(KEY).await.unwrap().is_some_and(|bytes| bytes.is_empty()));
    redis.steps().invalidate(KEY, &expiring()).await.unwrap();
    assert!(redis.steps().read(KEY).await.unwrap().is_none());
    redis.push(KEY).await;
    redis.steps().lease(KEY, &asked(Why::Miss)).await.unwrap();
    assert!(redis.steps().read(KEY).await.unwrap().is_some_and(|bytes| !bytes.is_empty()));
}

async fn without_memory() -> (Redis, OnRedis) {
    let server = Redis::start(RedisOptions::new()).await.unwrap();
    let backend = OnRedis::on(&server.url(), "full").await.unwrap();
    (server, backend)
}

async fn set_memory(server: &Redis, bytes: &str) {
    server.command::<()>(&["CONFIG", "SET", "maxmemory", bytes]).await.unwrap();
}

/// Redis is out of memory and rejects every write. A load can be retried; an invalidation must succeed: otherwise the old value is
/// served until it expires, and an earlier load is stored once there is memory again.
// shows: hazard D24, spec/cache.md
#[tokio::test]
async fn invalidation_succeeds_when_redis_is_out_of_memory() {
    let (server, redis) = without_memory().await;
    let cache = Player::new(&redis);
    cache.load("v1").await;
    cache.advance(LIFE_MS).await;
    let slow = granted(cache.lease(Why::Below(1)).await);
    set_memory(&server, "1").await;
    cache.expire().await;
    assert!(cache.bytes().await.is_some(), "the invalidated entry stays");
    let refused = redis.steps().lease(KEY, &asked(Why::Miss)).await.unwrap_err();
    let CacheError::Link(refused) = refused else { panic!("{refused:?}") };
    assert!(refused.is_retryable(), "{refused}");
    set_memory(&server, "0").await;
    assert_eq!(cache.fill(slow, "v1").await, Filled::Superseded);
}

/// The entry holds another writer's window: deleting it would let readers load before that writer commits. Invalidations and ends of windows work on a full server.
// shows: hazard D24, spec/cache.md
#[tokio::test]
async fn out_of_memory_keeps_the_open_window() {
    let (server, redis) = without_memory().await;
    let cache = Player::new(&redis);
    let [first, second] = [Token::random(), Token::random()];
    cache.begin(first).await;
    cache.begin(second).await;
    set_memory(&server, "1").await;
    redis.steps().invalidate(KEY, &expiring()).await.unwrap();
    assert_eq!(cache.header().await.windows.len(), 2);
    assert_eq!(cache.end(first).await, Ended::Closed);
    assert_eq!(cache.header().await.windows.len(), 1);
    assert_eq!(cache.end(second).await, Ended::Closed);
    set_memory(&server, "0").await;
    let Leased::Granted(grant) = cache.lease(Why::Miss).await else { panic!("no window is open any more") };
    assert_eq!(cache.fill_with(loaded(grant, "v2")).await, Filled::Stored);
}
