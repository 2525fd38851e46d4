//! The values that readers receive, and the commands that they cost.

use super::db::Db;
use super::rig::{Rig, find, get, some};
use evenkeel::cache::{Stale, Tier};
use evenkeel::codec::{Integer, MessagePack, Raw};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

on_both! {
    value_is_loaded_once_for_all_processes
    absent_row_is_cached
    read_reports_the_tier_of_its_value
    keys_and_codecs_of_all_kinds_round_trip
    large_value_is_compressed_and_decoded
    value_above_the_size_cap_is_returned_but_not_stored
    foreign_bytes_are_treated_as_a_miss
    entry_of_another_codec_is_not_overwritten
    opening_a_cache_twice_is_rejected
}

async fn value_is_loaded_once_for_all_processes(rig: Rig) {
    let (one, other, db) = (rig.rows().await, rig.rows().await, Db::with("a"));
    assert_eq!(get(&one, &db).await, some("a"));
    assert_eq!(get(&one, &db).await, some("a"));
    assert_eq!(get(&other, &db).await, some("a"));
    assert_eq!(db.loads(), 1);
}

// shows: hazard H12
async fn absent_row_is_cached(rig: Rig) {
    let rows = rig.rows_with(|builder| builder.absent_ttl(Duration::from_secs(20))).await;
    let db = Db::new();
    assert_eq!(get(&rows, &db).await, None);
    db.write(1, "a");
    assert_eq!(get(&rows, &db).await, None);
    assert_eq!(db.loads(), 1);
    rows.invalidate(&1).await.unwrap();
    assert_eq!(get(&rows, &db).await, some("a"), "an insert invalidates like any other write");
}

async fn read_reports_the_tier_of_its_value(rig: Rig) {
    let rows = rig.rows_with(|builder| builder.retain_stale(Duration::from_secs(30))).await;
    let db = Db::with("a");
    let loaded = find(&rows, &db).await.unwrap();
    assert_eq!((loaded.tier, loaded.age, loaded.stale), (Tier::Loader, Duration::ZERO, None));
    rig.advance(Duration::from_secs(7)).await;
    let stored = find(&rows, &db).await.unwrap();
    assert_eq!((stored.tier, stored.age, stored.stale), (Tier::Store, Duration::from_secs(7), None));
    rows.invalidate(&1).await.unwrap();
    let _held = db.hold();
    let stale = find(&rows, &db).await.unwrap();
    assert_eq!((stale.tier, stale.stale), (Tier::Store, Some(Stale::Invalidated)));
}

// shows: hazard H12
async fn keys_and_codecs_of_all_kinds_round_trip(rig: Rig) {
    let keel = rig.process().await;
    let ttl = Duration::from_secs(600);
    let counts = keel.cache::<(String, u32), i64>("count").ttl(ttl).codec(Integer).open().await.unwrap();
    let pages = keel.cache::<str, bytes::Bytes>("page").ttl(ttl).codec(Raw).open().await.unwrap();
    let maps = keel.cache::<[u8; 16], BTreeMap<u8, f64>>("map").ttl(ttl).codec(MessagePack).open().await.unwrap();
    for _ in 0..2 {
        let count = counts.get(&("a,{}".to_owned(), 7), |_| async { Ok::<_, Infallible>(Some(-5)) }).await;
        assert_eq!(count.unwrap().as_deref(), Some(&-5));
        let page = pages.get("", |_| async { Ok::<_, Infallible>(Some(bytes::Bytes::from_static(b"\0\xff"))) }).await;
        assert_eq!(page.unwrap().unwrap()[..], b"\0\xff"[..]);
        let map = maps.get(&[7; 16], |_| async { Ok::<_, Infallible>(Some(BTreeMap::from([(1, f64::MAX)]))) }).await;
        assert_eq!(map.unwrap().unwrap()[&1], f64::MAX);
    }
    let other = counts.get(&("a".to_owned(), 7), |_| async { Ok::<_, Infallible>(None) }).await;
    assert_eq!(other.unwrap(), None, "another key is another entry");
}

async fn large_value_is_compressed_and_decoded(rig: Rig) {
    let (rows, db) = (rig.rows().await, Db::with(&"row ".repeat(5_000)));
    assert_eq!(get(&rows, &db).await, some(&"row ".repeat(5_000)));
    let stored = find(&rows, &db).await.unwrap();
    assert_eq!((stored.tier, db.loads()), (Tier::Store, 1));
    assert_eq!(stored.value.unwrap().len(), 20_000);
}

/// Its lease must also be released: no reader should wait for a value that will not arrive.
async fn value_above_the_size_cap_is_returned_but_not_stored(rig: Rig) {
    let rows = rig.rows_with(|builder| builder.value_bytes_max(100)).await;
    let db = Db::with(&"x".repeat(99));
    assert_eq!(get(&rows, &db).await, some(&"x".repeat(99)), "with its quotes it is 101 bytes of JSON");
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Loader);
    assert_eq!(db.loads(), 2);
}

/// A key with a value of another program must neither be served nor stop the cache.
async fn foreign_bytes_are_treated_as_a_miss(rig: Rig) {
    let (rows, db) = (rig.rows().await, Db::with("a"));
    rig.put(1, b"\"b\"").await;
    assert_eq!(get(&rows, &db).await, some("a"));
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Store, "it was overwritten");
}

/// Two programs of different ages would otherwise overwrite each other's entries at every read, or read garbage.
// shows: hazard D23
async fn entry_of_another_codec_is_not_overwritten(rig: Rig) {
    let db = Db::with("7");
    let json = rig.rows().await;
    assert_eq!(get(&json, &db).await, some("7"));
    let raw = rig.process().await.cache("row").ttl(Duration::from_secs(600)).codec(Raw).open().await.unwrap();
    assert_eq!(get(&raw, &db).await, some("7"));
    assert_eq!(get(&raw, &db).await, some("7"));
    assert_eq!(db.loads(), 3, "the other program loads without storing");
    assert_eq!(find(&json, &db).await.unwrap().tier, Tier::Store, "and leaves the entry as it is");
}

// shows: cache::CacheBuilder::open
async fn opening_a_cache_twice_is_rejected(rig: Rig) {
    let keel = rig.process().await;
    let open = || keel.cache::<u64, String>("row").ttl(Duration::from_secs(600)).open();
    let rows = open().await.unwrap();
    let error = open().await.unwrap_err().to_string();
    assert_eq!(error, "cache `row`: it is already open in this keel; clone the handle instead of opening another");
    drop(rows);
    open().await.unwrap();
}
