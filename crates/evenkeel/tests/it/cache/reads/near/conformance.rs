//! The rules of the near cache, on both backends and on every server of the matrix.

use super::super::db::{Db, DbError};
use super::super::rig::{Rig, Rows, find, get, some};
use super::{fill_near, near, near_with, notified, tier};
use evenkeel::cache::{Freshness, Tier, WhileWriting};
use evenkeel::testing::{Side, Step, StepGate};
use std::collections::HashMap;
use std::time::Duration;

on_both! {
    third_read_is_a_near_hit
    absent_row_is_a_near_hit
    peek_sees_near_value_and_sends_no_command
    remote_invalidation_drops_the_near_value
    rejected_second_cache_keeps_notifications_of_first
    writer_reads_its_own_write_with_near_cache
    dropped_invalidation_drops_the_near_value
    purge_drops_the_near_value
    eviction_of_entry_drops_the_near_value
    foreign_write_to_entry_drops_the_near_value
    load_in_another_process_drops_the_near_value
    value_due_for_refresh_is_read_from_the_store
    near_value_expires_with_its_ttl
    near_value_expires_after_near_age_max
    stale_value_does_not_enter_near_cache
    batch_reads_and_fills_the_near_cache
    invalidation_drops_near_value_of_a_batch
    near_cache_keeps_at_most_its_capacity
    fresh_read_bypasses_the_near_cache
    near_hit_satisfies_the_read_policy
    open_window_disables_near_hits
}

async fn third_read_is_a_near_hit(rig: Rig) {
    let rows = near(&rig.process().await).await;
    let db = Db::with("a");
    let mut tiers = Vec::new();
    for _ in 0..4 {
        let found = find(&rows, &db).await.unwrap();
        assert_eq!(found.value.as_deref().map(String::as_str), Some("a"));
        tiers.push(found.tier);
    }
    assert_eq!(tiers, [Tier::Loader, Tier::Store, Tier::Near, Tier::Near]);
    rig.advance(Duration::from_secs(5)).await;
    prove_alive(&rows, &db).await;
    assert_eq!(find(&rows, &db).await.unwrap().age, Duration::from_secs(5));
}

/// After a leap of time a connection has been silent for long; a reply proves that it works.
async fn prove_alive(rows: &Rows, db: &Db) {
    rows.get(&2, |key| db.find(*key)).await.unwrap();
    rows.get(&2, |key| db.find(*key)).await.unwrap();
}

// shows: cache::Cache::peek
async fn peek_sees_near_value_and_sends_no_command(rig: Rig) {
    let keel = rig.process().await;
    let (rows, db) = (near(&keel).await, Db::with("a"));
    assert!(rows.peek(&1).is_none());
    fill_near(&rows, &db).await;
    let found = rows.peek(&1).unwrap();
    assert_eq!((found.value.as_deref().map(String::as_str), found.tier), (Some("a"), Tier::Near));
    db.write(1, "b");
    rows.invalidate(&1).await.unwrap();
    assert!(rows.peek(&1).is_none());
    fill_near(&rows, &db).await;
    rows.bypass_reads(true);
    assert!(rows.peek(&1).is_none());
    rows.bypass_reads(false);
    assert_eq!(rows.peek(&1).unwrap().value.as_deref().map(String::as_str), Some("b"));
}

async fn absent_row_is_a_near_hit(rig: Rig) {
    let rows = near(&rig.process().await).await;
    let db = Db::new();
    fill_near(&rows, &db).await;
    assert_eq!(find(&rows, &db).await.unwrap().value, None);
    assert_eq!(db.loads(), 1);
}

// shows: C1, cache::CacheBuilder::near
async fn remote_invalidation_drops_the_near_value(rig: Rig) {
    let keel = rig.process().await;
    let (here, elsewhere, db) = (near(&keel).await, rig.rows().await, Db::with("a"));
    fill_near(&here, &db).await;
    db.write(1, "b");
    elsewhere.invalidate(&1).await.unwrap();
    notified(&keel).await;
    assert_eq!(get(&here, &db).await, some("b"));
    fill_near(&here, &db).await;
    assert_eq!(get(&here, &db).await, some("b"));
}

/// Opening the name a second time is rejected, and must not redirect the notifications of the open cache.
async fn rejected_second_cache_keeps_notifications_of_first(rig: Rig) {
    let keel = rig.process().await;
    let (here, elsewhere, db) = (near(&keel).await, rig.rows().await, Db::with("a"));
    fill_near(&here, &db).await;
    assert!(keel.cache::<u64, String>("row").ttl(Duration::from_secs(600)).near(100).open().await.is_err());
    db.write(1, "b");
    elsewhere.invalidate(&1).await.unwrap();
    notified(&keel).await;
    assert_eq!(get(&here, &db).await, some("b"));
}

/// Redis notifies a connection of its own write only after the reply (redis#9422): a writer that relied on the notification
/// would read what it has just replaced (R4).
// shows: C1, hazard R4, cache::CacheBuilder::near
async fn writer_reads_its_own_write_with_near_cache(rig: Rig) {
    let rows = near(&rig.process().await).await;
    let db = Db::new();
    for round in 0..50 {
        db.write(1, &round.to_string());
        rows.invalidate(&1).await.unwrap();
        assert_eq!(get(&rows, &db).await, some(&round.to_string()));
        fill_near(&rows, &db).await;
    }
}

/// The invalidation had not been sent when its caller was dropped, and a reader put the old value into the near cache in the
/// meantime. The invalidation is pending; its key is read from the database, and not from the near cache.
async fn dropped_invalidation_drops_the_near_value(rig: Rig) {
    let gate = StepGate::default();
    let rows = near_with(&rig.process().await, |builder| builder.gate(&gate)).await;
    let db = Db::with("a");
    fill_near(&rows, &db).await;
    db.write(1, "b");
    let mut held = gate.hold(Step::Invalidate, Side::BeforeSend);
    let caller = tokio::spawn({
        let rows = rows.clone();
        async move { rows.invalidate(&1).await }
    });
    held.reached().await;
    fill_near(&rows, &db).await;
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    assert_eq!(get(&rows, &db).await, some("b"));
    drop(held);
}

async fn purge_drops_the_near_value(rig: Rig) {
    let keel = rig.process().await;
    let (here, elsewhere, db) = (near(&keel).await, rig.rows().await, Db::with("a"));
    fill_near(&here, &db).await;
    db.delete(1);
    elsewhere.purge(&1).await.unwrap();
    notified(&keel).await;
    assert_eq!(get(&here, &db).await, None);
}

/// An invalidation of an absent entry changes nothing, so Redis sends no notification: a value that was near when the entry
/// was removed would stay.
async fn eviction_of_entry_drops_the_near_value(rig: Rig) {
    let keel = rig.process().await;
    let (here, elsewhere, db) = (near(&keel).await, rig.rows().await, Db::with("a"));
    fill_near(&here, &db).await;
    rig.evict(1).await;
    db.write(1, "b");
    elsewhere.invalidate(&1).await.unwrap();
    notified(&keel).await;
    assert_eq!(get(&here, &db).await, some("b"));
}

async fn foreign_write_to_entry_drops_the_near_value(rig: Rig) {
    let keel = rig.process().await;
    let (rows, db) = (near(&keel).await, Db::with("a"));
    fill_near(&rows, &db).await;
    db.write(1, "b");
    rig.put(1, b"not ours").await;
    notified(&keel).await;
    assert_eq!(get(&rows, &db).await, some("b"));
}

/// A refresh in another process stores a newer value; a reader that reads here all the time must not keep the older one.
async fn load_in_another_process_drops_the_near_value(rig: Rig) {
    let keel = rig.process().await;
    let (here, elsewhere, db) = (near(&keel).await, rig.rows().await, Db::with("a"));
    fill_near(&here, &db).await;
    rig.advance(Duration::from_secs(599)).await;
    db.write(1, "b");
    // Due: served as it is, and loaded in the background.
    assert_eq!(get(&elsewhere, &db).await, some("a"));
    elsewhere.until_idle().await;
    notified(&keel).await;
    assert_eq!(get(&here, &db).await, some("b"));
}

async fn value_due_for_refresh_is_read_from_the_store(rig: Rig) {
    let keel = rig.process().await;
    let (rows, db) = (near(&keel).await, Db::with("a"));
    fill_near(&rows, &db).await;
    rig.advance(Duration::from_secs(599)).await;
    db.write(1, "b");
    assert_eq!(tier(&rows, &db).await, Tier::Store, "the one that asks for the refresh");
    rows.until_idle().await;
    notified(&keel).await;
    assert_eq!(get(&rows, &db).await, some("b"));
    assert_eq!(db.loads(), 2);
}

// shows: hazard N6
async fn near_value_expires_with_its_ttl(rig: Rig) {
    let rows = near_with(&rig.process().await, |builder| builder.refresh_window(Duration::ZERO)).await;
    let db = Db::with("a");
    fill_near(&rows, &db).await;
    rig.advance(Duration::from_millis(599_999)).await;
    prove_alive(&rows, &db).await;
    assert_eq!(tier(&rows, &db).await, Tier::Near);
    rig.advance(Duration::from_millis(1)).await;
    db.write(1, "b");
    assert_eq!(get(&rows, &db).await, some("b"));
}

// shows: hazard N6
async fn near_value_expires_after_near_age_max(rig: Rig) {
    let rows = near_with(&rig.process().await, |builder| builder.near_age_max(Duration::from_secs(60))).await;
    let db = Db::with("a");
    fill_near(&rows, &db).await;
    rig.advance(Duration::from_secs(60)).await;
    for _ in 0..3 {
        assert_eq!(tier(&rows, &db).await, Tier::Store);
    }
}

async fn stale_value_does_not_enter_near_cache(rig: Rig) {
    let keel = rig.process().await;
    let rows = near_with(&keel, |builder| builder.retain_stale(Duration::from_secs(60))).await;
    let db = Db::with("a");
    fill_near(&rows, &db).await;
    db.write(1, "b");
    rows.invalidate(&1).await.unwrap();
    let load = db.hold();
    for _ in 0..3 {
        let found = find(&rows, &db).await.unwrap();
        assert_eq!((found.tier, found.stale.is_some()), (Tier::Store, true));
    }
    load.release();
    rows.until_idle().await;
    notified(&keel).await;
    assert_eq!(get(&rows, &db).await, some("b"));
}

async fn read_both(rows: &Rows, db: &Db) -> HashMap<u64, Option<String>> {
    let found = rows.get_many(&[1, 2], |keys| db.find_many(keys)).await.unwrap();
    found.into_iter().map(|(key, row)| (key, row.map(|row| String::clone(&row)))).collect()
}

// shows: C4
async fn batch_reads_and_fills_the_near_cache(rig: Rig) {
    let gate = StepGate::default();
    let rows = near_with(&rig.process().await, |builder| builder.gate(&gate)).await;
    let db = Db::with("a");
    for _ in 0..2 {
        read_both(&rows, &db).await;
    }
    assert_eq!(tier(&rows, &db).await, Tier::Near, "a batch stored it");
    // A batch that asked the store would wait at this gate forever.
    let _held = gate.hold(Step::Read, Side::BeforeSend);
    assert_eq!(read_both(&rows, &db).await, HashMap::from([(1, some("a")), (2, None)]));
    assert_eq!(db.loads(), 1);
}

/// The path for several keys is another one: in one published client it skipped the check that the path for one key had.
// shows: hazard N7
async fn invalidation_drops_near_value_of_a_batch(rig: Rig) {
    let gate = StepGate::default();
    let keel = rig.process().await;
    let rows = near_with(&keel, |builder| builder.gate(&gate)).await;
    let (elsewhere, db) = (rig.rows().await, Db::with("a"));
    read_both(&rows, &db).await;
    let mut held = gate.hold(Step::Read, Side::BeforeAnswer);
    let batch = tokio::spawn({
        let (rows, db) = (rows.clone(), db.clone());
        async move { read_both(&rows, &db).await }
    });
    held.reached().await;
    db.write(1, "b");
    elsewhere.invalidate(&1).await.unwrap();
    notified(&keel).await;
    held.release();
    assert_eq!(batch.await.unwrap()[&1], some("a"), "it overlapped the invalidation");
    assert_eq!(read_both(&rows, &db).await[&1], some("b"));
}

async fn near_cache_keeps_at_most_its_capacity(rig: Rig) {
    let gate = StepGate::default();
    let rows = near_with(&rig.process().await, |builder| builder.near(10).gate(&gate)).await;
    let db = Db::new();
    for key in (0..100).chain(0..100) {
        rows.get(&key, |key| db.find(*key)).await.unwrap();
    }
    let mut served_near = 0;
    for key in 0..100 {
        let found = rows.get_with(&key, Freshness::Eventual, |key| db.find(*key)).await.unwrap();
        served_near += usize::from(found.tier == Tier::Near);
    }
    assert!((1..=10).contains(&served_near), "{served_near} of 100 were near");
}

/// A near value may be briefly outdated, so a fresh read must not be served from the near cache.
// shows: cache::Freshness::Fresh, cache::CacheBuilder::near
async fn fresh_read_bypasses_the_near_cache(rig: Rig) {
    let rows = near(&rig.process().await).await;
    let db = Db::with("a");
    fill_near(&rows, &db).await;
    let found = rows.get_with(&1, Freshness::Fresh, |key| db.find(*key)).await.unwrap();
    assert_eq!(found.tier, Tier::Store);
}

// shows: cache::Freshness::Bounded
async fn near_hit_satisfies_the_read_policy(rig: Rig) {
    let rows = near_with(&rig.process().await, |builder| builder.version(|row: &String| row.parse().unwrap())).await;
    let db = Db::with("7");
    fill_near(&rows, &db).await;
    let at_least = async |version| {
        let found = rows.get_with(&1, Freshness::AtLeast(version), |key| db.find(*key)).await.unwrap();
        (found.version, found.tier)
    };
    assert_eq!(at_least(7).await, (Some(7), Tier::Near));
    db.write(1, "8");
    assert_eq!(at_least(8).await, (Some(8), Tier::Loader));
}

/// Once a writer's window is open, no reader in its process is served the old value, and no reader of another process after the
/// notification.
async fn open_window_disables_near_hits(rig: Rig) {
    let keel = rig.process().await;
    let here = near_with(&keel, |builder| builder.while_writing(WhileWriting::Load)).await;
    let (elsewhere, db) = (rig.rows().await, Db::with("a"));
    fill_near(&here, &db).await;
    let written = elsewhere.write(&1, || async {
        notified(&keel).await;
        // No value is stored while the window is open, neither in Redis nor near.
        for _ in 0..3 {
            assert_eq!(tier(&here, &db).await, Tier::Loader);
        }
        db.write(1, "b");
        Ok::<_, DbError>(())
    });
    written.await.unwrap();
    notified(&keel).await;
    assert_eq!(get(&here, &db).await, some("b"));
}
