//! What an operator sees of an entry, and the invalidation of an operator.

use crate::cache::reads::db::{Db, DbError};
use crate::cache::reads::rig::{Rig, get, reader, row, some};
use evenkeel::cache::admin::{HeaderError, Mode, Outdated, Verdict};
use evenkeel::cache::{CacheError, Invalidated};
use std::time::Duration;

on_both! {
    entry_is_inspected_with_its_age_and_state
    foreign_bytes_under_a_key_are_not_an_error
    read_after_operator_purge_does_not_join_earlier_load
    operator_invalidation_reaches_other_processes
    text_with_two_readings_invalidates_both
    names_and_keys_that_no_cache_has_are_refused
}

// shows: cache::CacheAdmin::inspect
async fn entry_is_inspected_with_its_age_and_state(rig: Rig) {
    let (rows, db) = (rig.rows_with(|builder| builder.retain_stale(Duration::from_secs(30))).await, Db::with("a"));
    let admin = rig.process().await.cache_admin("row").unwrap();
    assert!(admin.inspect("1").await.unwrap().entry.is_none());
    get(&rows, &db).await;
    rig.advance(Duration::from_secs(7)).await;
    let found = admin.inspect("1").await.unwrap();
    assert_eq!(found.now_ms - found.value().unwrap().loaded_at_ms, 7_000);
    let entry = found.entry.unwrap().unwrap();
    assert_eq!((entry.header.verdict(found.now_ms), &entry.payload[..]), (Verdict::Hit, &b"\"a\""[..]));
    rows.invalidate(&1).await.unwrap();
    let found = admin.inspect("1").await.unwrap();
    assert_eq!(found.entry.as_ref().unwrap().as_ref().unwrap().header.verdict(found.now_ms), Verdict::Stale);
    admin.purge("1").await.unwrap();
    assert!(admin.inspect("1").await.unwrap().value().is_none());
    rig.advance(Duration::from_secs(2_000)).await;
    assert!(admin.inspect("1").await.unwrap().entry.is_none(), "it has ended");
}

// shows: cache::CacheAdmin::inspect
async fn foreign_bytes_under_a_key_are_not_an_error(rig: Rig) {
    let admin = rig.process().await.cache_admin("row").unwrap();
    rig.put(1, b"text").await;
    assert_eq!(admin.inspect("1").await.unwrap().entry, Some(Err(HeaderError::Corrupt)));
    rig.put(1, b"\xff").await;
    assert_eq!(admin.inspect("1").await.unwrap().entry, Some(Err(HeaderError::NewerFormat)));
    admin.purge("1").await.unwrap();
    assert!(admin.inspect("1").await.unwrap().entry.is_none());
}

/// The console of a program that has the cache open: a purge that only reaches the store leaves the load in this process joinable.
// shows: cache::CacheAdmin::purge, cache::CacheAdmin::invalidate
async fn read_after_operator_purge_does_not_join_earlier_load(rig: Rig) {
    let keel = rig.process().await;
    let rows = keel.cache("row").ttl(Duration::from_secs(600)).store_timeout(Duration::from_secs(10));
    let (rows, db) = (rows.open().await.unwrap(), Db::with("old"));
    let (mut load, before) = (db.hold(), reader(&rows, &db));
    load.reached().await;
    db.write(1, "new");
    assert_eq!(keel.cache_admin("row").unwrap().purge("1").await.unwrap(), Invalidated::Done);
    assert_eq!(get(&rows, &db).await, some("new"));
    load.release();
    assert_eq!(row(before).await, some("old"));
}

// shows: cache::CacheAdmin::purge, cache::CacheAdmin::invalidate
async fn operator_invalidation_reaches_other_processes(rig: Rig) {
    let (rows, db) = (rig.rows().await, Db::with("old"));
    get(&rows, &db).await;
    db.write(1, "new");
    assert_eq!(get(&rows, &db).await, some("old"));
    let outdated = Outdated { version: None, mode: Mode::Expire { retain_ms: 0 }, lag_max: Duration::ZERO };
    let admin = rig.process().await.cache_admin("row").unwrap();
    admin.invalidate("1", outdated).await.unwrap();
    assert_eq!(get(&rows, &db).await, some("new"));
}

/// The same text is a pair in one cache, and one text in another.
// shows: cache::CacheAdmin::purge, cache::CacheAdmin::invalidate
async fn text_with_two_readings_invalidates_both(rig: Rig) {
    let keel = rig.process().await;
    let pairs = keel.cache::<(u64, u64), u64>("pair").ttl(Duration::from_secs(600)).open().await.unwrap();
    let texts = keel.cache::<String, u64>("text").ttl(Duration::from_secs(600)).open().await.unwrap();
    let operator = rig.process().await;
    for version in 1..=2 {
        let load = move || async move { Ok::<_, DbError>(Some(version)) };
        assert_eq!(pairs.get(&(7, 42), |_| load()).await.unwrap().as_deref(), Some(&version));
        assert_eq!(texts.get("7,42", |_| load()).await.unwrap().as_deref(), Some(&version));
        for cache in ["pair", "text"] {
            let admin = operator.cache_admin(cache).unwrap();
            assert!(admin.inspect("7,42").await.unwrap().value().is_some());
            assert_eq!(admin.purge("7,42").await.unwrap(), Invalidated::Done);
            assert_eq!(admin.purge("7,43").await.unwrap(), Invalidated::NoEntry);
        }
    }
}

// shows: cache::CacheAdmin::inspect, cache::CacheAdmin::purge, cache::CacheAdmin::invalidate
async fn names_and_keys_that_no_cache_has_are_refused(rig: Rig) {
    let keel = rig.process().await;
    for name in ["", "a:b", "{row}", "a b"] {
        assert!(matches!(keel.cache_admin(name), Err(CacheError::Settings { .. })), "{name:?}");
    }
    let admin = keel.cache_admin("row").unwrap();
    for key in [String::new(), "x".repeat(4_097)] {
        assert!(matches!(admin.inspect(&key).await, Err(CacheError::Settings { .. })), "{} bytes", key.len());
    }
    let forever = Outdated { version: None, mode: Mode::Purge, lag_max: Duration::MAX };
    assert!(matches!(admin.invalidate("1", forever).await, Err(CacheError::Settings { .. })));
}
