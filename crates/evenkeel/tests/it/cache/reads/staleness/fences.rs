//! C1: an invalidation rejects the fill of every load that began before it. Each story is a schedule that some cache loses.

use crate::cache::reads::db::Db;
use crate::cache::reads::rig::{Rig, find, get, no_answer, reader, row, some};
use evenkeel::cache::Tier;
use evenkeel::testing::{Side, Step, StepGate};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

on_both! {
    paused_reader_does_not_store_the_old_row
    paused_reader_does_not_store_after_a_purge
    own_invalidation_rejects_fill_of_paused_reader
    paused_reader_does_not_store_after_its_lease_expired
    paused_reader_does_not_store_in_a_recreated_entry
    paused_refresh_does_not_store_the_old_row
    paused_reader_does_not_store_an_old_absence
    earlier_load_does_not_store_under_a_later_grant
    load_that_outlives_its_lease_is_stored
    slow_load_does_not_overwrite_a_newer_value
    load_beyond_its_budget_is_returned_but_not_stored
    load_from_earlier_epoch_is_returned_but_not_stored
}

/// The stale fill: a reader reads the row and pauses; a writer commits and invalidates; the reader stores the old row, and it
/// stays until its ttl ends. (The dominant bug of hand-made caches.)
// shows: hazard D1, cache::Cache
async fn paused_reader_does_not_store_the_old_row(rig: Rig) {
    let (reading, writing, db) = (rig.rows().await, rig.rows().await, Db::with("old"));
    let mut load = db.hold();
    let reader = reader(&reading, &db);
    load.reached().await;
    db.write(1, "new");
    writing.invalidate(&1).await.unwrap();
    load.release();
    assert_eq!(row(reader).await, some("old"), "it began before the write");
    assert_eq!(get(&reading, &db).await, some("new"));
    assert_eq!(get(&writing, &db).await, some("new"));
}

// shows: hazard D1
async fn paused_reader_does_not_store_after_a_purge(rig: Rig) {
    let (reading, writing, db) = (rig.rows().await, rig.rows().await, Db::with("old"));
    let mut load = db.hold();
    let reader = reader(&reading, &db);
    load.reached().await;
    db.delete(1);
    writing.purge(&1).await.unwrap();
    load.release();
    row(reader).await;
    assert_eq!(get(&reading, &db).await, None);
}

async fn own_invalidation_rejects_fill_of_paused_reader(rig: Rig) {
    let (rows, db) = (rig.rows().await, Db::with("old"));
    let mut load = db.hold();
    let reader = reader(&rows, &db);
    load.reached().await;
    db.write(1, "new");
    rows.invalidate(&1).await.unwrap();
    load.release();
    row(reader).await;
    assert_eq!(get(&rows, &db).await, some("new"));
}

/// The lease decides which reader loads, not which may store: the lease may be stolen, and the thief's load may also be
/// invalidated.
// shows: cache::Cache
async fn paused_reader_does_not_store_after_its_lease_expired(rig: Rig) {
    let (slow, thief, writing, db) = (rig.rows().await, rig.rows().await, rig.rows().await, Db::with("old"));
    let (mut first, reader_one) = (db.hold(), reader(&slow, &db));
    first.reached().await;
    rig.advance(Duration::from_millis(600)).await;
    let (mut second, reader_two) = (db.hold(), reader(&thief, &db));
    second.reached().await;
    db.write(1, "new");
    writing.invalidate(&1).await.unwrap();
    first.release();
    second.release();
    assert_eq!((row(reader_one).await, row(reader_two).await), (some("old"), some("old")));
    assert_eq!(get(&slow, &db).await, some("new"));
}

/// A fence that is stored apart from the value (a tombstone, a counter) is gone after an eviction, and the old load wins.
// shows: hazard D3, hazard D24, cache::Cache
async fn paused_reader_does_not_store_in_a_recreated_entry(rig: Rig) {
    let (slow, other, db) = (rig.rows().await, rig.rows().await, Db::with("old"));
    let (mut load, reader) = (db.hold(), reader(&slow, &db));
    load.reached().await;
    db.write(1, "new");
    other.invalidate(&1).await.unwrap();
    rig.evict(1).await;
    assert_eq!(get(&other, &db).await, some("new"));
    load.release();
    row(reader).await;
    assert_eq!(get(&slow, &db).await, some("new"));
    assert_eq!(db.loads(), 2);
}

// shows: hazard D1
async fn paused_refresh_does_not_store_the_old_row(rig: Rig) {
    let (reading, writing, db) = (rig.rows().await, rig.rows().await, Db::with("old"));
    get(&reading, &db).await;
    rig.advance(10 * MINUTE - Duration::from_secs(1)).await;
    let mut load = db.hold();
    assert_eq!(get(&reading, &db).await, some("old"), "due for refresh");
    load.reached().await;
    db.write(1, "new");
    writing.invalidate(&1).await.unwrap();
    load.release();
    reading.until_idle().await;
    assert_eq!(get(&reading, &db).await, some("new"));
}

/// H11 and H17: storing "no such row" goes past the fence in some caches, and hides a row that was inserted meanwhile.
// shows: hazard H11, hazard D17
async fn paused_reader_does_not_store_an_old_absence(rig: Rig) {
    let (reading, writing, db) = (rig.rows().await, rig.rows().await, Db::new());
    let (mut load, reader) = (db.hold(), reader(&reading, &db));
    load.reached().await;
    db.write(1, "new");
    writing.invalidate(&1).await.unwrap();
    assert_eq!(get(&writing, &db).await, some("new"));
    load.release();
    assert_eq!(row(reader).await, None);
    assert_eq!(find(&reading, &db).await.unwrap().tier, Tier::Store);
    assert_eq!(get(&reading, &db).await, some("new"));
}

/// R1: with one token per process instead of one per load, the first load of a process stores its old row under the permission
/// of the second.
// shows: hazard R1
async fn earlier_load_does_not_store_under_a_later_grant(rig: Rig) {
    let (rows, writing, db) = (rig.rows().await, rig.rows().await, Db::with("old"));
    let (mut first, reader_one) = (db.hold(), reader(&rows, &db));
    first.reached().await;
    db.write(1, "new");
    // Both: this process may not know, or it may.
    writing.invalidate(&1).await.unwrap();
    rows.invalidate(&1).await.unwrap();
    let (mut second, reader_two) = (db.hold(), reader(&rows, &db));
    second.reached().await;
    first.release();
    assert_eq!(row(reader_one).await, some("old"));
    second.release();
    assert_eq!(row(reader_two).await, some("new"));
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Store, "the second one was stored");
    assert_eq!(get(&rows, &db).await, some("new"));
}

/// H2: where the lease is the fence, a load longer than the lease is never stored: the next reader steals the lease, is too
/// slow as well, and a hot key is loaded forever and never cached.
// shows: hazard H2
async fn load_that_outlives_its_lease_is_stored(rig: Rig) {
    let (one, other, db) = (rig.rows().await, rig.rows().await, Db::with("a"));
    let (mut first, reader_one) = (db.hold(), reader(&one, &db));
    first.reached().await;
    rig.advance(Duration::from_millis(600)).await;
    let (mut second, reader_two) = (db.hold(), reader(&other, &db));
    second.reached().await;
    first.release();
    assert_eq!(row(reader_one).await, some("a"));
    assert_eq!(find(&one, &db).await.unwrap().tier, Tier::Store);
    second.release();
    assert_eq!(row(reader_two).await, some("a"));
    assert_eq!(db.loads(), 2);
}

/// Two loads run, a write happens between them whose invalidation is still on its way: the slower load is the older one.
// shows: hazard H2
async fn slow_load_does_not_overwrite_a_newer_value(rig: Rig) {
    let (slow, fast, db) = (rig.rows().await, rig.rows().await, Db::with("old"));
    let (mut load, reader) = (db.hold(), reader(&slow, &db));
    load.reached().await;
    rig.advance(Duration::from_millis(600)).await;
    db.write(1, "new");
    assert_eq!(get(&fast, &db).await, some("new"));
    load.release();
    row(reader).await;
    assert_eq!(get(&slow, &db).await, some("new"));
}

// shows: hazard D4
async fn load_beyond_its_budget_is_returned_but_not_stored(rig: Rig) {
    let (rows, db) = (rig.rows().await, Db::with("a"));
    let (mut load, reader) = (db.hold(), reader(&rows, &db));
    load.reached().await;
    // Above the budget of 1.5 s, below the life of the entry: nothing but the budget refuses it.
    rig.advance(Duration::from_millis(1_600)).await;
    load.release();
    assert_eq!(row(reader).await, some("a"));
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Loader);
}

/// H13: a failover keeps the lease and loses the invalidation, and the old load is accepted on the new primary.
// shows: C8, hazard H13
async fn load_from_earlier_epoch_is_returned_but_not_stored(rig: Rig) {
    let gate = StepGate::default();
    let rows = rig.rows_with(|builder| builder.gate(&gate)).await;
    let db = Db::with("old");
    let (mut load, reader) = (db.hold(), reader(&rows, &db));
    load.reached().await;
    gate.next_epoch();
    load.release();
    assert_eq!(row(reader).await, some("old"));
    rig.advance(Duration::from_millis(600)).await;
    db.write(1, "new");
    assert_eq!(get(&rows, &db).await, some("new"), "its invalidation was lost, too");
}

/// A repeated fill whose first reply was lost must not look like a rejection: its waiters would load again.
#[tokio::test]
async fn fill_without_reply_keeps_the_stored_value() {
    let rig = Rig::memory();
    let gate = StepGate::default();
    let rows = rig.rows_with(|builder| builder.gate(&gate)).await;
    let db = Db::with("a");
    let mut fill = gate.hold(Step::Fill, Side::BeforeAnswer);
    let reader = reader(&rows, &db);
    fill.reached().await;
    fill.fail(no_answer());
    assert_eq!(row(reader).await, some("a"));
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Store);
    assert_eq!(db.loads(), 1);
}
