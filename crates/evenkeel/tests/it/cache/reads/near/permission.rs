//! Where Redis does not notify, or the settings are invalid, there is no near cache, and the error says why.

use super::super::db::Db;
use super::super::rig::{get, some};
use evenkeel::Keel;
use evenkeel::cache::CacheBuilder;
use evenkeel_published::Protocol;
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};

fn row(keel: &Keel) -> CacheBuilder<u64, String> {
    keel.cache("row").ttl(Duration::from_secs(600))
}

async fn refused(builder: CacheBuilder<u64, String>, because: &str) {
    let error = builder.open().await.unwrap_err().to_string();
    assert!(error.starts_with("cache `row`: ") && error.contains(because), "{error}");
}

// shows: cache::CacheBuilder::open
#[tokio::test]
async fn invalid_near_settings_are_rejected() {
    let keel = Keel::memory();
    refused(row(&keel).near(0), "of size 0").await;
    refused(row(&keel).near_bytes(0), "of size 0").await;
    refused(row(&keel).near(100).near_weight(String::len), "near_bytes").await;
    refused(row(&keel).near_age_max(Duration::from_secs(1)), "need a near cache").await;
    refused(row(&keel).silence_max(Duration::from_secs(1)), "need a near cache").await;
    refused(row(&keel).near(1).near_age_max(Duration::from_nanos(60)), "check its unit").await;
    refused(row(&keel).near(1).near_age_max(Duration::from_secs(601)), "longer than the ttl").await;
    refused(row(&keel).near(1).protocol(Protocol::Lease), "needs the fenced protocol").await;
}

// shows: cache::CacheBuilder::open
#[tokio::test]
async fn silence_max_below_the_heartbeat_is_rejected() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let keel = Keel::connect(&redis.url()).await.unwrap();
    refused(row(&keel).near(1).silence_max(Duration::from_millis(1_999)), "two heartbeats of the link, 2s").await;
    row(&keel).near(1).silence_max(Duration::from_secs(2)).open().await.unwrap();
}

/// Some hosted servers reject `CLIENT`, and an administrator may forbid it. Everything except the near cache continues to work.
// shows: hazard R5
#[tokio::test]
async fn near_cache_requires_permission_for_client_tracking() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let rules = ["ACL", "SETUSER", "plain", "on", ">secret", "~*", "&*", "+@all", "-client|tracking"];
    redis.command::<()>(&rules).await.unwrap();
    let keel = Keel::connect(&redis.url().replacen("redis://", "redis://plain:secret@", 1)).await.unwrap();
    refused(row(&keel).near(100), "+client|tracking").await;
    let (rows, db) = (row(&keel).open().await.unwrap(), Db::with("a"));
    assert_eq!(get(&rows, &db).await, some("a"));
    let tracking_off = Keel::connect(&format!("{}?tracking=off", redis.url())).await.unwrap();
    refused(row(&tracking_off).near(100), "link has disabled").await;
}
