//! What a reader gets, and what it costs.

use super::db::Db;
use super::rig::{Rig, find, get, some};
use evenkeel::cache::{Stale, Tier};
use evenkeel::codec::{Integer, MessagePack, Raw};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

on_both! {
    a_value_is_loaded_once_for_all_processes
    an_absent_row_is_cached_too
    a_read_tells_where_its_value_comes_from
    keys_and_codecs_of_all_kinds_come_back_as_they_were
    a_large_value_is_compressed_and_comes_back
    a_value_above_the_cap_is_returned_and_not_stored
    what_another_program_wrote_is_no_value
    an_entry_of_another_codec_is_left_alone
    a_cache_is_open_once
}

async fn a_value_is_loaded_once_for_all_processes(rig: Rig) {
    let (one, other, db) = (rig.rows().await, rig.rows().await, Db::with("a"));
    assert_eq!(get(&one, &db).await, some("a"));
    assert_eq!(get(&one, &db).await, some("a"));
    assert_eq!(get(&other, &db).await, some("a"));
    assert_eq!(db.loads(), 1);
}

async fn an_absent_row_is_cached_too(rig: Rig) {
    let rows = rig.rows_with(|builder| builder.absent_ttl(Duration::from_secs(20))).await;
    let db = Db::new();
    assert_eq!(get(&rows, &db).await, None);
    db.write(1, "a");
    assert_eq!(get(&rows, &db).await, None);
    assert_eq!(db.loads(), 1);
    rows.invalidate(&1).await.unwrap();
    assert_eq!(get(&rows, &db).await, some("a"), "an insert invalidates like any other write");
}

async fn a_read_tells_where_its_value_comes_from(rig: Rig) {
    let rows = rig.rows_with(|builder| builder.keep(Duration::from_secs(30))).await;
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

async fn keys_and_codecs_of_all_kinds_come_back_as_they_were(rig: Rig) {
    let keel = rig.process().await;
    let ttl = Duration::from_secs(600);
    let counts = keel.cache::<(String, u32), i64>("count").ttl(ttl).codec(Integer).build().unwrap();
    let pages = keel.cache::<str, bytes::Bytes>("page").ttl(ttl).codec(Raw).build().unwrap();
    let maps = keel.cache::<[u8; 16], BTreeMap<u8, f64>>("map").ttl(ttl).codec(MessagePack).build().unwrap();
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

async fn a_large_value_is_compressed_and_comes_back(rig: Rig) {
    let (rows, db) = (rig.rows().await, Db::with(&"row ".repeat(5_000)));
    assert_eq!(get(&rows, &db).await, some(&"row ".repeat(5_000)));
    let stored = find(&rows, &db).await.unwrap();
    assert_eq!((stored.tier, db.loads()), (Tier::Store, 1));
    assert_eq!(stored.value.unwrap().len(), 20_000);
}

/// Its lease must be given back, too: nobody should wait for a value that will not come.
async fn a_value_above_the_cap_is_returned_and_not_stored(rig: Rig) {
    let rows = rig.rows_with(|builder| builder.value_bytes_max(100)).await;
    let db = Db::with(&"x".repeat(99));
    assert_eq!(get(&rows, &db).await, some(&"x".repeat(99)), "with its quotes it is 101 bytes of JSON");
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Loader);
    assert_eq!(db.loads(), 2);
}

/// A key of ours that holds something else (an earlier cache, a foreign program) must neither be served nor stop the cache.
async fn what_another_program_wrote_is_no_value(rig: Rig) {
    let (rows, db) = (rig.rows().await, Db::with("a"));
    rig.put(1, b"\"b\"").await;
    assert_eq!(get(&rows, &db).await, some("a"));
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Store, "it was overwritten");
}

/// Two programs of different ages would otherwise overwrite each other's entries at every read, or read garbage.
async fn an_entry_of_another_codec_is_left_alone(rig: Rig) {
    let db = Db::with("7");
    let json = rig.rows().await;
    assert_eq!(get(&json, &db).await, some("7"));
    let raw = rig.process().await.cache("row").ttl(Duration::from_secs(600)).codec(Raw).build().unwrap();
    assert_eq!(get(&raw, &db).await, some("7"));
    assert_eq!(get(&raw, &db).await, some("7"));
    assert_eq!(db.loads(), 3, "the other program loads without storing");
    assert_eq!(find(&json, &db).await.unwrap().tier, Tier::Store, "and leaves the entry as it is");
}

async fn a_cache_is_open_once(rig: Rig) {
    let keel = rig.process().await;
    let open = || keel.cache::<u64, String>("row").ttl(Duration::from_secs(600)).build();
    let rows = open().unwrap();
    let error = open().unwrap_err().to_string();
    assert_eq!(error, "cache `row`: it is open already in this keel; clone the handle instead of building another");
    drop(rows);
    open().unwrap();
}
