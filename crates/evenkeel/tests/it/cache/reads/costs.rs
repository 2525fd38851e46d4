//! The cost of reads, as Redis reports it.

use super::db::Db;
use super::rig::{find, get, some};
use evenkeel::Keel;
use evenkeel::cache::Tier;
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};
use testkit::step_command;
use testkit::{CommandTrace, Trace};

/// What the clients sent about entries, without the link's own heartbeat.
async fn sent(trace: &mut CommandTrace, redis: &Redis) -> Trace {
    trace.take(redis).await.unwrap().from_clients().on_prefix("evenkeel:c:row:{")
}

/// A near hit sends no command, and one write fills the near cache.
// shows: C4
#[tokio::test]
async fn near_hit_sends_no_command() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let keel = Keel::connect(&redis.url()).await.unwrap();
    let rows = keel.cache("row").ttl(Duration::from_secs(600)).near(10).open().await.unwrap();
    let db = Db::with("a");
    get(&rows, &db).await;
    let mut trace = CommandTrace::start(&redis).await.unwrap();
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Store);
    assert_eq!(sent(&mut trace, &redis).await.names(), ["GET"]);
    for _ in 0..10 {
        assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Near);
    }
    assert_eq!(sent(&mut trace, &redis).await.names(), [""; 0]);
}

/// C4: a script for every hit costs Redis several times what a `GET` does, and a second key for the lock doubles the commands.
// shows: C4
#[tokio::test]
async fn hit_costs_one_get_and_miss_two_more_scripts() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let keel = Keel::connect(&redis.url()).await.unwrap();
    let rows = keel.cache("row").ttl(Duration::from_secs(600)).open().await.unwrap();
    let db = Db::with("a");
    let mut trace = CommandTrace::start(&redis).await.unwrap();

    assert_eq!(get(&rows, &db).await, some("a"));
    assert_eq!(sent(&mut trace, &redis).await.names(), ["GET", step_command(), step_command()], "read, lease, fill");

    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Store);
    assert_eq!(sent(&mut trace, &redis).await.names(), ["GET"]);

    rows.invalidate(&1).await.unwrap();
    assert_eq!(sent(&mut trace, &redis).await.names(), [step_command()]);

    db.delete(1);
    assert_eq!(get(&rows, &db).await, None);
    assert_eq!(sent(&mut trace, &redis).await.names(), ["GET", step_command(), step_command()]);
    assert_eq!(get(&rows, &db).await, None);
    assert_eq!(sent(&mut trace, &redis).await.names(), ["GET"], "absence costs no more than a value");
}
