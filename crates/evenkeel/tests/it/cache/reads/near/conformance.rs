//! The rules of the near cache, on both backends and on every server of the matrix.

use super::super::db::{Db, DbError};
use super::super::rig::{Rig, Rows, find, get, some};
use super::{bring_near, heard, near, near_with, tier};
use evenkeel::cache::{Freshness, Side, Step, StepGate, Tier, WhileWriting};
use std::collections::HashMap;
use std::time::Duration;

on_both! {
    a_value_is_near_from_the_third_read_on
    an_absent_row_is_near_too
    a_peek_sees_what_is_near_and_asks_nobody
    an_invalidation_elsewhere_ends_it
    refused_cache_leaves_the_open_one_notified
    the_writer_sees_its_own_write
    an_invalidation_whose_caller_goes_away_ends_it
    a_purge_ends_it
    an_evicted_entry_ends_it
    foreign_bytes_in_its_place_end_it
    a_load_elsewhere_ends_it
    a_value_due_for_refresh_goes_by_way_of_the_store
    a_value_is_not_near_for_longer_than_it_lives
    a_value_is_not_near_for_longer_than_it_may
    what_is_stale_does_not_come_near
    a_batch_is_served_near_and_brings_near
    an_invalidation_ends_what_a_batch_brought_near
    there_is_room_for_so_many
    a_fresh_read_is_not_answered_near
    a_read_is_answered_near_only_by_what_will_do
    nothing_is_near_while_somebody_writes
}

async fn a_value_is_near_from_the_third_read_on(rig: Rig) {
    let rows = near(&rig.process().await);
    let db = Db::with("a");
    let mut tiers = Vec::new();
    for _ in 0..4 {
        let found = find(&rows, &db).await.unwrap();
        assert_eq!(found.value.as_deref().map(String::as_str), Some("a"));
        tiers.push(found.tier);
    }
    assert_eq!(tiers, [Tier::Loader, Tier::Store, Tier::Near, Tier::Near]);
    rig.advance(Duration::from_secs(5)).await;
    heard_by_heartbeat(&rows, &db).await;
    assert_eq!(find(&rows, &db).await.unwrap().age, Duration::from_secs(5));
}

/// After a leap of time a connection has been silent for long; a read that is answered on it proves that it is not.
async fn heard_by_heartbeat(rows: &Rows, db: &Db) {
    rows.get(&2, |key| db.find(*key)).await.unwrap();
    rows.get(&2, |key| db.find(*key)).await.unwrap();
}

async fn a_peek_sees_what_is_near_and_asks_nobody(rig: Rig) {
    let keel = rig.process().await;
    let (rows, db) = (near(&keel), Db::with("a"));
    assert!(rows.peek(&1).is_none());
    bring_near(&rows, &db).await;
    let found = rows.peek(&1).unwrap();
    assert_eq!((found.value.as_deref().map(String::as_str), found.tier), (Some("a"), Tier::Near));
    db.write(1, "b");
    rows.invalidate(&1).await.unwrap();
    assert!(rows.peek(&1).is_none());
    bring_near(&rows, &db).await;
    rows.bypass_reads(true);
    assert!(rows.peek(&1).is_none());
    rows.bypass_reads(false);
    assert_eq!(rows.peek(&1).unwrap().value.as_deref().map(String::as_str), Some("b"));
}

async fn an_absent_row_is_near_too(rig: Rig) {
    let rows = near(&rig.process().await);
    let db = Db::new();
    bring_near(&rows, &db).await;
    assert_eq!(find(&rows, &db).await.unwrap().value, None);
    assert_eq!(db.loads(), 1);
}

async fn an_invalidation_elsewhere_ends_it(rig: Rig) {
    let keel = rig.process().await;
    let (here, elsewhere, db) = (near(&keel), rig.rows().await, Db::with("a"));
    bring_near(&here, &db).await;
    db.write(1, "b");
    elsewhere.invalidate(&1).await.unwrap();
    heard(&keel).await;
    assert_eq!(get(&here, &db).await, some("b"));
    bring_near(&here, &db).await;
    assert_eq!(get(&here, &db).await, some("b"));
}

/// Opening the name once more is refused, and must not redirect the notifications of the cache that is open.
async fn refused_cache_leaves_the_open_one_notified(rig: Rig) {
    let keel = rig.process().await;
    let (here, elsewhere, db) = (near(&keel), rig.rows().await, Db::with("a"));
    bring_near(&here, &db).await;
    assert!(keel.cache::<u64, String>("row").ttl(Duration::from_secs(600)).near(100).build().is_err());
    db.write(1, "b");
    elsewhere.invalidate(&1).await.unwrap();
    heard(&keel).await;
    assert_eq!(get(&here, &db).await, some("b"));
}

/// Redis tells a connection about its own write only after the answer (redis#9422): a writer that relied on being told would
/// read what it has just replaced (R4).
async fn the_writer_sees_its_own_write(rig: Rig) {
    let rows = near(&rig.process().await);
    let db = Db::new();
    for round in 0..50 {
        db.write(1, &round.to_string());
        rows.invalidate(&1).await.unwrap();
        assert_eq!(get(&rows, &db).await, some(&round.to_string()));
        bring_near(&rows, &db).await;
    }
}

/// The invalidation had not been sent when its caller went away, and a reader brought the old value near in the meantime. The
/// invalidation is owed; its key is read from the database, and not from here.
async fn an_invalidation_whose_caller_goes_away_ends_it(rig: Rig) {
    let gate = StepGate::default();
    let rows = near_with(&rig.process().await, |builder| builder.gate(&gate));
    let db = Db::with("a");
    bring_near(&rows, &db).await;
    db.write(1, "b");
    let mut held = gate.hold(Step::Invalidate, Side::BeforeSend);
    let caller = tokio::spawn({
        let rows = rows.clone();
        async move { rows.invalidate(&1).await }
    });
    held.reached().await;
    bring_near(&rows, &db).await;
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    assert_eq!(get(&rows, &db).await, some("b"));
    drop(held);
}

async fn a_purge_ends_it(rig: Rig) {
    let keel = rig.process().await;
    let (here, elsewhere, db) = (near(&keel), rig.rows().await, Db::with("a"));
    bring_near(&here, &db).await;
    db.delete(1);
    elsewhere.purge(&1).await.unwrap();
    heard(&keel).await;
    assert_eq!(get(&here, &db).await, None);
}

/// An invalidation of an absent entry changes nothing, so nothing is told: what was near when the entry went would stay.
async fn an_evicted_entry_ends_it(rig: Rig) {
    let keel = rig.process().await;
    let (here, elsewhere, db) = (near(&keel), rig.rows().await, Db::with("a"));
    bring_near(&here, &db).await;
    rig.evict(1).await;
    db.write(1, "b");
    elsewhere.invalidate(&1).await.unwrap();
    heard(&keel).await;
    assert_eq!(get(&here, &db).await, some("b"));
}

async fn foreign_bytes_in_its_place_end_it(rig: Rig) {
    let keel = rig.process().await;
    let (rows, db) = (near(&keel), Db::with("a"));
    bring_near(&rows, &db).await;
    db.write(1, "b");
    rig.put(1, b"not ours").await;
    heard(&keel).await;
    assert_eq!(get(&rows, &db).await, some("b"));
}

/// A refresh somewhere else brings a newer value; nobody who reads here all the time goes on with the older one.
async fn a_load_elsewhere_ends_it(rig: Rig) {
    let keel = rig.process().await;
    let (here, elsewhere, db) = (near(&keel), rig.rows().await, Db::with("a"));
    bring_near(&here, &db).await;
    rig.advance(Duration::from_secs(599)).await;
    db.write(1, "b");
    // Due: served as it is, and loaded in the background.
    assert_eq!(get(&elsewhere, &db).await, some("a"));
    elsewhere.until_idle().await;
    heard(&keel).await;
    assert_eq!(get(&here, &db).await, some("b"));
}

async fn a_value_due_for_refresh_goes_by_way_of_the_store(rig: Rig) {
    let keel = rig.process().await;
    let (rows, db) = (near(&keel), Db::with("a"));
    bring_near(&rows, &db).await;
    rig.advance(Duration::from_secs(599)).await;
    db.write(1, "b");
    assert_eq!(tier(&rows, &db).await, Tier::Store, "the one that asks for the refresh");
    rows.until_idle().await;
    heard(&keel).await;
    assert_eq!(get(&rows, &db).await, some("b"));
    assert_eq!(db.loads(), 2);
}

async fn a_value_is_not_near_for_longer_than_it_lives(rig: Rig) {
    let rows = near_with(&rig.process().await, |builder| builder.refresh_window(Duration::ZERO));
    let db = Db::with("a");
    bring_near(&rows, &db).await;
    rig.advance(Duration::from_millis(599_999)).await;
    heard_by_heartbeat(&rows, &db).await;
    assert_eq!(tier(&rows, &db).await, Tier::Near);
    rig.advance(Duration::from_millis(1)).await;
    db.write(1, "b");
    assert_eq!(get(&rows, &db).await, some("b"));
}

async fn a_value_is_not_near_for_longer_than_it_may(rig: Rig) {
    let rows = near_with(&rig.process().await, |builder| builder.near_age_max(Duration::from_secs(60)));
    let db = Db::with("a");
    bring_near(&rows, &db).await;
    rig.advance(Duration::from_secs(60)).await;
    for _ in 0..3 {
        assert_eq!(tier(&rows, &db).await, Tier::Store);
    }
}

async fn what_is_stale_does_not_come_near(rig: Rig) {
    let keel = rig.process().await;
    let rows = near_with(&keel, |builder| builder.keep(Duration::from_secs(60)));
    let db = Db::with("a");
    bring_near(&rows, &db).await;
    db.write(1, "b");
    rows.invalidate(&1).await.unwrap();
    let load = db.hold();
    for _ in 0..3 {
        let found = find(&rows, &db).await.unwrap();
        assert_eq!((found.tier, found.stale.is_some()), (Tier::Store, true));
    }
    load.release();
    rows.until_idle().await;
    heard(&keel).await;
    assert_eq!(get(&rows, &db).await, some("b"));
}

async fn read_both(rows: &Rows, db: &Db) -> HashMap<u64, Option<String>> {
    let found = rows.get_many(&[1, 2], |keys| db.find_many(keys)).await.unwrap();
    found.into_iter().map(|(key, row)| (key, row.map(|row| String::clone(&row)))).collect()
}

async fn a_batch_is_served_near_and_brings_near(rig: Rig) {
    let gate = StepGate::default();
    let rows = near_with(&rig.process().await, |builder| builder.gate(&gate));
    let db = Db::with("a");
    for _ in 0..2 {
        read_both(&rows, &db).await;
    }
    assert_eq!(tier(&rows, &db).await, Tier::Near, "a batch brought it");
    // A batch that asks the store would stand at this gate for ever.
    let _held = gate.hold(Step::Read, Side::BeforeSend);
    assert_eq!(read_both(&rows, &db).await, HashMap::from([(1, some("a")), (2, None)]));
    assert_eq!(db.loads(), 1);
}

/// The path for several keys is another one: in one published client it skipped the check that the path for one key had.
async fn an_invalidation_ends_what_a_batch_brought_near(rig: Rig) {
    let gate = StepGate::default();
    let keel = rig.process().await;
    let rows = near_with(&keel, |builder| builder.gate(&gate));
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
    heard(&keel).await;
    held.release();
    assert_eq!(batch.await.unwrap()[&1], some("a"), "it overlapped the invalidation");
    assert_eq!(read_both(&rows, &db).await[&1], some("b"));
}

async fn there_is_room_for_so_many(rig: Rig) {
    let gate = StepGate::default();
    let rows = near_with(&rig.process().await, |builder| builder.near(10).gate(&gate));
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

/// What is near may be a moment behind; a read that wants the row as it is now must not have it.
async fn a_fresh_read_is_not_answered_near(rig: Rig) {
    let rows = near(&rig.process().await);
    let db = Db::with("a");
    bring_near(&rows, &db).await;
    let found = rows.get_with(&1, Freshness::Fresh, |key| db.find(*key)).await.unwrap();
    assert_eq!(found.tier, Tier::Store);
}

async fn a_read_is_answered_near_only_by_what_will_do(rig: Rig) {
    let rows = near_with(&rig.process().await, |builder| builder.version(|row: &String| row.parse().unwrap()));
    let db = Db::with("7");
    bring_near(&rows, &db).await;
    let at_least = async |version| {
        let found = rows.get_with(&1, Freshness::AtLeast(version), |key| db.find(*key)).await.unwrap();
        (found.version, found.tier)
    };
    assert_eq!(at_least(7).await, (Some(7), Tier::Near));
    db.write(1, "8");
    assert_eq!(at_least(8).await, (Some(8), Tier::Loader));
}

/// From the moment a writer may write, nobody in its process is served what it replaces, and nobody else once it was told.
async fn nothing_is_near_while_somebody_writes(rig: Rig) {
    let keel = rig.process().await;
    let here = near_with(&keel, |builder| builder.while_writing(WhileWriting::Load));
    let (elsewhere, db) = (rig.rows().await, Db::with("a"));
    bring_near(&here, &db).await;
    let written = elsewhere.write(&1, || async {
        heard(&keel).await;
        // Nothing can be stored while the window is open, so nothing comes near.
        for _ in 0..3 {
            assert_eq!(tier(&here, &db).await, Tier::Loader);
        }
        db.write(1, "b");
        Ok::<_, DbError>(())
    });
    written.await.unwrap();
    heard(&keel).await;
    assert_eq!(get(&here, &db).await, some("b"));
}
