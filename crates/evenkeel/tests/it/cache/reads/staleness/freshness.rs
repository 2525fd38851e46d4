//! What each freshness guarantees: which stored value it accepts, and which load it joins.

use crate::cache::reads::db::{Db, DbError};
use crate::cache::reads::rig::{Rig, Rows, find_as, get, no_answer, reader, row, some};
use evenkeel::cache::{CacheError, Found, Freshness, Stale, Tier};
use evenkeel::testing::{Side, Step, StepGate};
use std::time::Duration;
use tokio::task::JoinHandle;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

on_both! {
    fresh_read_rejects_an_invalidated_value
    fresh_read_does_not_join_an_earlier_load
    fresh_read_rejects_load_stored_before_the_read
    fresh_reads_share_a_load_stored_after_they_began
    fresh_reads_without_store_share_no_earlier_load
    bounded_read_rejects_values_older_than_its_bound
    minimum_version_read_returns_no_older_version
    stale_value_is_served_at_once_during_a_load
    stale_if_error_serves_stale_only_on_error
    strong_cache_reads_fresh_by_default
}

/// CP mode: an invalidated value is retained for readers that accept stale values, and a read that needs the current row is
/// not one of them.
// shows: C2, cache::Freshness::Fresh
async fn fresh_read_rejects_an_invalidated_value(rig: Rig) {
    let (rows, db) = (rig.rows_with(|builder| builder.retain_stale(MINUTE)).await, Db::with("old"));
    get(&rows, &db).await;
    db.write(1, "new");
    rows.invalidate(&1).await.unwrap();
    let found = fresh(&rows, &db).await;
    assert_eq!((text(&found), found.stale, found.tier), (some("new"), None, Tier::Loader));
    assert_eq!(fresh(&rows, &db).await.tier, Tier::Store);
}

/// A load reads the old row and pauses; another process writes, and the entry is evicted. The fill finds no entry, which is
/// no reason for an eventual reader to ask again. A fresh reader that joined the load would return the old row.
// shows: C2, cache::Freshness::Fresh
async fn fresh_read_does_not_join_an_earlier_load(rig: Rig) {
    let gate = StepGate::default();
    let rows = rig.rows_with(|builder| builder.gate(&gate)).await;
    let (writing, db) = (rig.rows().await, Db::with("old"));
    let (mut load, before) = (db.hold(), reader(&rows, &db));
    load.reached().await;
    writing.write(&1, || write(&db, "new")).await.unwrap();
    rig.evict(1).await;
    let after = joined_reader(&gate, &rows, &db).await;
    load.release();
    assert_eq!(row(before).await, some("old"));
    assert_eq!(text(&after.await.unwrap().unwrap()), some("new"));
}

/// The store has accepted the old row, and its reply is in flight; meanwhile another process writes. Only a value that was
/// stored after a reader began is known to be the newest for that reader.
// shows: C2, cache::Freshness::Fresh
async fn fresh_read_rejects_load_stored_before_the_read(rig: Rig) {
    let gate = StepGate::default();
    let rows = rig.rows_with(|builder| builder.gate(&gate)).await;
    let (writing, db) = (rig.rows().await, Db::with("old"));
    let (mut fill, before) = (gate.hold(Step::Fill, Side::BeforeAnswer), reader(&rows, &db));
    fill.reached().await;
    writing.write(&1, || write(&db, "new")).await.unwrap();
    let after = joined_reader(&gate, &rows, &db).await;
    fill.release();
    assert_eq!(row(before).await, some("old"));
    assert_eq!(text(&after.await.unwrap().unwrap()), some("new"));
}

async fn fresh_reads_share_a_load_stored_after_they_began(rig: Rig) {
    let gate = StepGate::default();
    let (rows, db) = (rig.rows_with(|builder| builder.gate(&gate)).await, Db::with("a"));
    let (mut load, before) = (db.hold(), reader(&rows, &db));
    load.reached().await;
    let (one, other) = (joined_reader(&gate, &rows, &db).await, joined_reader(&gate, &rows, &db).await);
    load.release();
    row(before).await;
    for joined in [one, other] {
        assert_eq!(text(&joined.await.unwrap().unwrap()), some("a"));
    }
    assert_eq!(db.loads(), 1);
}

/// Without the store a fresh read is as fresh as the primary. It does not join the load of an earlier reader, and the
/// readers that arrived during that load share the next one.
// shows: cache::Freshness::Fresh
async fn fresh_reads_without_store_share_no_earlier_load(rig: Rig) {
    let gate = StepGate::default();
    let (rows, db) = (rig.rows_with(|builder| builder.gate(&gate)).await, Db::with("old"));
    let first = away(&gate, &rows, &db).await;
    let mut load = db.hold();
    first.release();
    load.reached().await;
    db.write(1, "new");
    let (second, third) = (away(&gate, &rows, &db).await, away(&gate, &rows, &db).await);
    let (second, third) = (second.release_and_join().await, third.release_and_join().await);
    load.release();
    for reader in [second, third] {
        assert_eq!(text(&reader.await.unwrap().unwrap()), some("new"));
    }
    assert_eq!(db.loads(), 2);
}

// shows: cache::Freshness::Bounded
async fn bounded_read_rejects_values_older_than_its_bound(rig: Rig) {
    let (rows, db) = (rig.rows().await, Db::with("old"));
    get(&rows, &db).await;
    db.write(1, "new");
    rig.advance(10 * SECOND).await;
    let found = find_as(&rows, &db, Freshness::Bounded(10 * SECOND)).await.unwrap();
    assert_eq!((text(&found), found.age), (some("old"), 10 * SECOND));
    let found = find_as(&rows, &db, Freshness::Bounded(9 * SECOND)).await.unwrap();
    assert_eq!((text(&found), found.tier), (some("new"), Tier::Loader));
    assert_eq!(get(&rows, &db).await, some("new"), "it was stored for the others");
}

/// A user writes through one process and reads through another, with the version in a cookie.
// shows: cache::Cache::get_with, cache::Cache::get_from, cache::Freshness::AtLeast
async fn minimum_version_read_returns_no_older_version(rig: Rig) {
    let versioned = || rig.rows_with(|builder| builder.version(|row| row.parse().unwrap()));
    let (reading, db) = (versioned().await, Db::with("7"));
    get(&reading, &db).await;
    let found = find_as(&reading, &db, Freshness::AtLeast(7)).await.unwrap();
    assert_eq!((found.version, found.tier), (Some(7), Tier::Store));
    // The invalidation has not arrived yet.
    db.write(1, "8");
    let found = find_as(&reading, &db, Freshness::AtLeast(8)).await.unwrap();
    assert_eq!((found.version, found.tier), (Some(8), Tier::Loader));
    assert_eq!(find_as(&reading, &db, Freshness::AtLeast(8)).await.unwrap().tier, Tier::Store);
    // A version that no row has yet: the primary's value is returned.
    assert_eq!(find_as(&reading, &db, Freshness::AtLeast(9)).await.unwrap().version, Some(8));
    let blind = rig.rows_with(|builder| builder.schema(1)).await;
    let refused = find_as(&blind, &db, Freshness::AtLeast(8)).await.unwrap_err();
    assert!(matches!(refused, CacheError::Unsupported(_)), "{refused}");
}

// shows: cache::Freshness::StaleWhileRevalidate
async fn stale_value_is_served_at_once_during_a_load(rig: Rig) {
    let (rows, db) = (rig.rows_with(|builder| builder.retain_stale(MINUTE)).await, Db::with("old"));
    get(&rows, &db).await;
    db.write(1, "new");
    rows.invalidate(&1).await.unwrap();
    let mut load = db.hold();
    let found = find_as(&rows, &db, Freshness::StaleWhileRevalidate).await.unwrap();
    assert_eq!((text(&found), found.stale), (some("old"), Some(Stale::Invalidated)));
    load.reached().await;
    load.release();
    rows.until_idle().await;
    let found = find_as(&rows, &db, Freshness::StaleWhileRevalidate).await.unwrap();
    assert_eq!((text(&found), found.stale), (some("new"), None));
}

// shows: cache::Freshness::StaleIfError
async fn stale_if_error_serves_stale_only_on_error(rig: Rig) {
    let (rows, db) = (rig.rows_with(|builder| builder.retain_stale(10 * MINUTE)).await, Db::with("old"));
    let bound = Freshness::StaleIfError(MINUTE);
    get(&rows, &db).await;
    rows.invalidate(&1).await.unwrap();
    rig.advance(30 * SECOND).await;
    db.fail(Some(DbError("away")));
    let found = find_as(&rows, &db, bound).await.unwrap();
    assert_eq!((text(&found), found.stale, found.age), (some("old"), Some(Stale::LoaderFailed), 30 * SECOND));
    rig.advance(31 * SECOND).await;
    let error = find_as(&rows, &db, bound).await.unwrap_err();
    assert_eq!(error.loader_error(), Some(&DbError("away")), "the bound is absolute");
    db.fail(None);
    db.write(1, "new");
    rig.advance(SECOND).await;
    assert_eq!(text(&find_as(&rows, &db, bound).await.unwrap()), some("new"));
}

async fn strong_cache_reads_fresh_by_default(rig: Rig) {
    let strong = rig.rows_with(|builder| builder.retain_stale(MINUTE).strong()).await;
    let db = Db::with("old");
    get_plain(&strong, &db).await;
    db.write(1, "new");
    strong.invalidate(&1).await.unwrap();
    let many = strong.get_many(&[1], |keys| db.find_many(keys)).await.unwrap();
    assert_eq!(many[&1].as_deref().map(String::as_str), Some("new"));
    db.write(1, "newer");
    strong.invalidate(&1).await.unwrap();
    assert_eq!(get_plain(&strong, &db).await, some("newer"));
}

/// Commits a row.
async fn write(db: &Db, row: &str) -> Result<(), DbError> {
    db.write(1, row);
    Ok(())
}

async fn fresh(rows: &Rows, db: &Db) -> Found<String> {
    find_as(rows, db, Freshness::Fresh).await.unwrap()
}

async fn get_plain(rows: &Rows, db: &Db) -> Option<String> {
    rows.get(&1, |key| db.find(*key)).await.unwrap().map(|row| String::clone(&row))
}

type Reader = JoinHandle<Result<Found<String>, CacheError>>;

/// A fresh reader of row 1 that has missed and waits for the running load.
async fn joined_reader(gate: &StepGate, rows: &Rows, db: &Db) -> Reader {
    let mut looks = gate.hold(Step::Read, Side::BeforeAnswer);
    let reader = fresh_reader(rows, db);
    looks.reached().await;
    looks.release();
    // The reader already has its reply: it only has to join the load.
    settle().await;
    reader
}

/// A fresh reader whose store does not answer.
struct Away {
    looks: evenkeel::testing::Held,
    reader: Reader,
}

async fn away(gate: &StepGate, rows: &Rows, db: &Db) -> Away {
    let mut looks = gate.hold(Step::Read, Side::BeforeSend);
    let reader = fresh_reader(rows, db);
    looks.reached().await;
    Away { looks, reader }
}

impl Away {
    fn release(self) {
        self.looks.fail(no_answer());
    }

    async fn release_and_join(self) -> Reader {
        self.looks.fail(no_answer());
        settle().await;
        self.reader
    }
}

fn fresh_reader(rows: &Rows, db: &Db) -> Reader {
    let (rows, db) = (rows.clone(), db.clone());
    tokio::spawn(async move { find_as(&rows, &db, Freshness::Fresh).await })
}

/// Lets every ready task run; all of them run on this thread.
async fn settle() {
    for _ in 0..16 {
        tokio::task::yield_now().await;
    }
}

fn text(found: &Found<String>) -> Option<String> {
    found.value.as_deref().cloned()
}
