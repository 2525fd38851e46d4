//! Another program uses the cache's name with other settings: each continues to work, and a mismatch that costs loads is
//! logged.

use crate::cache::reads::db::Db;
use crate::cache::reads::rig::{Rig, find, find_as, get, row, some};
use crate::log::Log;
use evenkeel::cache::{Freshness, Stale, Tier};
use evenkeel::codec::MessagePack;
use evenkeel_published::Protocol;
use std::time::Duration;

on_both! {
    programs_with_different_lifetimes_share_their_entries
    value_retained_by_another_program_is_not_served
    entry_of_another_codec_is_logged_once_a_minute
    near_cache_is_notified_by_a_program_without_one
}

// shows: hazard A40
async fn programs_with_different_lifetimes_share_their_entries(rig: Rig) {
    let (long, db) = (rig.rows().await, Db::with("a"));
    let short = rig.rows_with(|builder| builder.ttl(Duration::from_secs(5)).retain_stale(Duration::from_secs(1))).await;
    assert_eq!(get(&short, &db).await, some("a"));
    assert_eq!(find(&long, &db).await.unwrap().tier, Tier::Store);
    rig.advance(Duration::from_secs(6)).await;
    assert_eq!(find(&long, &db).await.unwrap().tier, Tier::Loader, "the program that stores a value sets its ttl");
    rig.advance(Duration::from_secs(6)).await;
    assert_eq!(find(&short, &db).await.unwrap().tier, Tier::Store);
    db.write(1, "b");
    short.invalidate(&1).await.unwrap();
    let stale = find(&short, &db).await.unwrap();
    assert_eq!((stale.value.as_deref().cloned(), stale.stale), (some("a"), Some(Stale::Invalidated)));
    short.until_idle().await;
    assert_eq!(get(&long, &db).await, some("b"));
    db.write(1, "c");
    long.invalidate(&1).await.unwrap();
    assert_eq!(get(&short, &db).await, some("c"), "without `retain_stale` the old value is gone for all");
}

/// A program without `retain_stale` got the values that another one had invalidated and retained, and `get` does not mark them.
// shows: hazard BC6
async fn value_retained_by_another_program_is_not_served(rig: Rig) {
    let (strict, db) = (rig.rows().await, Db::with("a"));
    let lax = rig.rows_with(|builder| builder.retain_stale(Duration::from_secs(60))).await;
    for freshness in [Freshness::Eventual, Freshness::Bounded(Duration::from_secs(60))] {
        assert_eq!(get(&strict, &db).await, some("a"));
        db.write(1, "b");
        lax.invalidate(&1).await.unwrap();
        let found = find_as(&strict, &db, freshness).await.unwrap();
        assert_eq!((found.value.as_deref().cloned(), found.tier), (some("b"), Tier::Loader));
        db.write(1, "a");
        strict.invalidate(&1).await.unwrap();
    }
    assert_eq!(get(&strict, &db).await, some("a"));
    lax.invalidate(&1).await.unwrap();
    let asked = find_as(&strict, &db, Freshness::StaleWhileRevalidate).await.unwrap();
    assert_eq!(asked.stale, Some(Stale::Invalidated), "the reader asks for whatever is there");
}

// shows: hazard A40
async fn entry_of_another_codec_is_logged_once_a_minute(rig: Rig) {
    let (json, db) = (rig.rows().await, Db::with("a"));
    let packed =
        rig.process().await.cache("row").ttl(Duration::from_secs(600)).codec(MessagePack).open().await.unwrap();
    assert_eq!(get(&json, &db).await, some("a"));
    let log = Log::begin();
    for _ in 0..3 {
        assert_eq!(find(&packed, &db).await.unwrap().tier, Tier::Loader);
    }
    log.says(&["of another codec or schema number"]);
    assert_eq!(find(&json, &db).await.unwrap().tier, Tier::Store);
    db.write(1, "b");
    packed.invalidate(&1).await.unwrap();
    assert_eq!(get(&json, &db).await, some("b"), "an invalidation holds for all of them");
}

async fn near_cache_is_notified_by_a_program_without_one(rig: Rig) {
    let (plain, db) = (rig.rows().await, Db::with("a"));
    let near = rig.rows_with(|builder| builder.near(10).near_bytes(1 << 20)).await;
    for tier in [Tier::Loader, Tier::Store, Tier::Near] {
        assert_eq!(find(&near, &db).await.unwrap().tier, tier);
    }
    db.write(1, "b");
    plain.purge(&1).await.unwrap();
    rig.while_time_passes(async {
        while get(&near, &db).await != some("b") {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// Under the keys of each protocol; the fenced one is in [`foreign`](super::foreign).
// shows: hazard A32
#[tokio::test]
async fn published_protocols_replace_a_foreign_type() {
    for name in ["lease", "version", "double delete"] {
        let (rig, db) = (Rig::redis().await, Db::with("a"));
        let protocol = match name {
            "lease" => Protocol::Lease,
            "version" => Protocol::Version,
            _ => Protocol::DelayedDoubleDelete { delay: Duration::from_millis(1), keel: rig.process().await },
        };
        let rows = rig.rows_with(|builder| builder.protocol(protocol).version(|_| 7)).await;
        for (command, arguments) in [("HSET", &["field", "value"][..]), ("LPUSH", &["value"]), ("SADD", &["value"])] {
            rig.trespass(1, command, arguments).await;
            assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Loader, "{name} {command}");
            assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Store, "{name} {command}");
            rig.trespass(1, command, arguments).await;
            rows.invalidate_at(&1, 7).await.unwrap();
            assert_eq!(get(&rows, &db).await, some("a"), "{name} {command}");
            rows.invalidate(&1).await.unwrap();
            let (mut load, reader) = (db.hold(), crate::cache::reads::rig::reader(&rows, &db));
            load.reached().await;
            rig.trespass(1, command, arguments).await;
            load.release();
            assert_eq!(row(reader).await, some("a"), "{name} {command}");
            assert_eq!(get(&rows, &db).await, some("a"), "{name} {command}");
            rig.evict(1).await;
        }
    }
}
