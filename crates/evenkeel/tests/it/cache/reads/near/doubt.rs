//! Whenever notifications may be incomplete, no value that was near before is served.

use super::super::db::Db;
use super::super::rig::{Rig, find, get, in_time, some};
use super::stand::Stand;
use super::{fill_near, near, notified, tier};
use evenkeel::cache::Tier;
use std::time::Duration;
use testkit::proxy::{Direction, Flow};

const SILENCE_MAX: Duration = Duration::from_secs(10);

/// Two published clients treated the empty push of `FLUSHALL` as "no key", and continued to serve the flushed values.
// shows: C8, hazard N2
#[tokio::test]
async fn flush_notification_drops_all_near_values() {
    in_time(async {
        let stand = Stand::start("").await;
        let (rows, db) = (stand.rows(|builder| builder).await, Db::with("a"));
        fill_near(&rows, &db).await;
        db.write(1, "b");
        stand.redis.command::<()>(&["FLUSHALL"]).await.unwrap();
        notified(&stand.keel).await;
        assert_eq!(get(&rows, &db).await, some("b"));
    })
    .await;
}

// shows: hazard N2
#[tokio::test]
async fn clear_of_embedded_store_drops_all_near_values() {
    in_time(async {
        let keel = evenkeel::Keel::memory();
        let (rows, db) = (near(&keel.another_process()).await, Db::with("a"));
        fill_near(&rows, &db).await;
        db.write(1, "b");
        keel.entries().clear();
        assert_eq!(get(&rows, &db).await, some("b"));
    })
    .await;
}

/// Invalidations while the process had no connection were notified to no connection.
// shows: C8, hazard D12, hazard N3, hazard N4, link::Link::get_tracked, link::Link::get_tracked_many
#[tokio::test]
async fn new_connection_drops_all_near_values() {
    in_time(async {
        let stand = Stand::start("heartbeat_ms=50").await;
        let (rows, db) = (stand.rows(|builder| builder).await, Db::with("a"));
        fill_near(&rows, &db).await;
        stand.proxy.refuse(true).await.unwrap();
        stand.proxy.cut();
        stand.down().await;
        db.write(1, "b");
        stand.elsewhere.invalidate(&1).await.unwrap();
        assert_eq!(tier(&rows, &db).await, Tier::Near, "no longer than silence_max, and time is frozen");
        stand.proxy.refuse(false).await.unwrap();
        stand.epoch_after(1).await;
        assert_eq!(get(&rows, &db).await, some("b"));
    })
    .await;
}

/// A notification is in flight and does not arrive, and the connection stays open. TCP reports nothing for minutes.
// shows: C1, hazard D12, hazard N5, cache::CacheBuilder::near
#[tokio::test]
async fn near_hits_end_after_silence_max() {
    in_time(async {
        let stand = Stand::start("silent_timeouts_max=4000000000").await;
        let (rows, db) = (stand.rows(|builder| builder.silence_max(SILENCE_MAX)).await, Db::with("a"));
        fill_near(&rows, &db).await;
        stand.proxy.set(Direction::ToClient, Flow::Stall);
        db.write(1, "b");
        stand.elsewhere.invalidate(&1).await.unwrap();
        assert_eq!(tier(&rows, &db).await, Tier::Near, "no notification has arrived yet");
        stand.advance(SILENCE_MAX + Duration::from_millis(1)).await;
        let found = find(&rows, &db).await.unwrap();
        assert_eq!((found.value.as_deref().map(String::as_str), found.tier), (Some("b"), Tier::Loader));
        // It was only slow: everything arrives in order, the push before later replies.
        stand.proxy.heal();
        notified(&stand.keel).await;
        assert_eq!(get(&rows, &db).await, some("b"));
        fill_near(&rows, &db).await;
    })
    .await;
}

/// A connection is cut, and no new one is made.
// shows: C1, hazard N5, cache::CacheBuilder::near
#[tokio::test]
async fn near_hits_end_after_lost_connection_within_silence_max() {
    in_time(async {
        let stand = Stand::start("heartbeat_ms=50").await;
        let (rows, db) = (stand.rows(|builder| builder.silence_max(SILENCE_MAX)).await, Db::with("a"));
        fill_near(&rows, &db).await;
        stand.proxy.refuse(true).await.unwrap();
        stand.proxy.cut();
        stand.down().await;
        db.write(1, "b");
        stand.elsewhere.invalidate(&1).await.unwrap();
        stand.advance(SILENCE_MAX + Duration::from_millis(1)).await;
        assert_eq!(get(&rows, &db).await, some("b"));
    })
    .await;
}

/// When Redis evicts a key it stops tracking it: later invalidations find nothing, and send no notification.
#[tokio::test]
async fn eviction_by_redis_drops_the_near_value() {
    in_time(async {
        let stand = Stand::start("").await;
        let (rows, db) = (stand.rows(|builder| builder).await, Db::with("a"));
        fill_near(&rows, &db).await;
        db.write(1, "b");
        stand.redis.command::<()>(&["CONFIG", "SET", "maxmemory-policy", "allkeys-random"]).await.unwrap();
        stand.redis.command::<()>(&["CONFIG", "SET", "maxmemory", "1"]).await.unwrap();
        until_gone(&stand, "evenkeel:c:row:{1}").await;
        notified(&stand.keel).await;
        assert_eq!(get(&rows, &db).await, some("b"));
    })
    .await;
}

/// Redis stops tracking a key that it expires, as one that it evicts.
#[tokio::test]
async fn expiry_in_redis_drops_the_near_value() {
    in_time(async {
        let stand = Stand::start("").await;
        let (rows, db) = (stand.rows(|builder| builder).await, Db::with("a"));
        fill_near(&rows, &db).await;
        db.write(1, "b");
        stand.redis.command::<i64>(&["PEXPIRE", "evenkeel:c:row:{1}", "1"]).await.unwrap();
        until_gone(&stand, "evenkeel:c:row:{1}").await;
        notified(&stand.keel).await;
        assert_eq!(get(&rows, &db).await, some("b"));
    })
    .await;
}

async fn until_gone(stand: &Stand, key: &str) {
    let gone = testkit::eventually("the key is gone", async || {
        let exists: i64 = stand.redis.command(&["EXISTS", key]).await.ok()?;
        (exists == 0).then_some(())
    });
    gone.await.unwrap();
}

/// A read that was answered on the last connections before they ended, and continues after the new ones have begun.
// shows: C8, hazard N3
#[tokio::test]
async fn value_read_on_old_connection_does_not_enter_near_cache() {
    in_time(async {
        let gate = evenkeel::testing::StepGate::default();
        let stand = Stand::start("heartbeat_ms=50").await;
        let (rows, db) = (stand.rows(|builder| builder.gate(&gate)).await, Db::with("a"));
        get(&rows, &db).await;
        let mut held = gate.hold(evenkeel::testing::Step::Read, evenkeel::testing::Side::BeforeAnswer);
        let early = super::super::rig::reader(&rows, &db);
        held.reached().await;
        stand.proxy.refuse(true).await.unwrap();
        stand.proxy.cut();
        stand.down().await;
        db.write(1, "b");
        stand.elsewhere.invalidate(&1).await.unwrap();
        stand.proxy.refuse(false).await.unwrap();
        stand.epoch_after(1).await;
        held.release();
        super::super::rig::row(early).await;
        assert_eq!(get(&rows, &db).await, some("b"));
    })
    .await;
}

on_both! {
    time_alone_drops_no_near_value
}

/// Silence is measured per connection, not per reader: after an idle hour one reply is sufficient.
async fn time_alone_drops_no_near_value(rig: Rig) {
    let rows = near(&rig.process().await).await;
    let db = Db::with("a");
    fill_near(&rows, &db).await;
    rig.advance(Duration::from_secs(300)).await;
    rows.get(&2, |key| db.find(*key)).await.unwrap();
    rows.get(&2, |key| db.find(*key)).await.unwrap();
    assert_eq!(tier(&rows, &db).await, Tier::Near);
}
