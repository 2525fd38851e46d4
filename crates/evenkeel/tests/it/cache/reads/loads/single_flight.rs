//! One single-flight load per key and process, and which readers may join it.

use crate::cache::reads::db::Db;
use crate::cache::reads::rig::{Rig, get, no_answer, reader, row, some};
use evenkeel::cache::Invalidated;
use evenkeel::testing::{Side, Step, StepGate};
use std::time::Duration;

on_both! {
    concurrent_readers_share_one_load
    readers_in_other_processes_wait_for_the_load
    read_after_invalidation_does_not_join_earlier_load
    read_during_invalidation_does_not_join_earlier_load
    read_after_invalidation_reply_does_not_join_older_load
    waiter_reloads_after_remote_invalidation_rejects_fill
    key_invalidated_all_the_time_is_still_read
    load_survives_a_dropped_caller
    lease_of_a_dead_loader_expires
    failed_invalidation_is_replayed_and_blocks_hits
    dropped_invalidation_is_completed_later
}

// shows: C3
async fn concurrent_readers_share_one_load(rig: Rig) {
    let (rows, db) = (rig.rows().await, Db::with("a"));
    let mut load = db.hold();
    let readers: Vec<_> = (0..256).map(|_| reader(&rows, &db)).collect();
    load.reached().await;
    load.release();
    for reader in readers {
        assert_eq!(row(reader).await, some("a"));
    }
    assert_eq!(db.loads(), 1);
}

// shows: C3
async fn readers_in_other_processes_wait_for_the_load(rig: Rig) {
    let gate = StepGate::default();
    let (loading, db) = (rig.rows().await, Db::with("a"));
    let waiting = rig.rows_with(|builder| builder.gate(&gate)).await;
    let (mut load, first) = (db.hold(), reader(&loading, &db));
    load.reached().await;
    let mut asked = gate.hold(Step::Lease, Side::BeforeAnswer);
    let second = reader(&waiting, &db);
    asked.reached().await;
    asked.release();
    load.release();
    assert_eq!(row(first).await, some("a"));
    // It asks again at the latest when the lease would have ended.
    let second = rig.while_time_passes(row(second)).await;
    assert_eq!((second, db.loads()), (some("a"), 1));
}

/// H1: single-flight alone breaks read-your-writes: a reader that starts after the invalidation joins the load that read the row
/// before the write.
// shows: hazard H1, cache::Freshness::Eventual
async fn read_after_invalidation_does_not_join_earlier_load(rig: Rig) {
    let (rows, db) = (rig.rows().await, Db::with("old"));
    let (mut load, before) = (db.hold(), reader(&rows, &db));
    load.reached().await;
    db.write(1, "new");
    assert_eq!(rows.invalidate(&1).await.unwrap(), Invalidated::Done);
    assert_eq!(get(&rows, &db).await, some("new"));
    load.release();
    assert_eq!(row(before).await, some("old"));
}

/// The store has applied the invalidation, and its sender has no reply yet. A read that begins now must not return the old row.
// shows: hazard H1, cache::Freshness::Eventual
async fn read_during_invalidation_does_not_join_earlier_load(rig: Rig) {
    let gate = StepGate::default();
    let rows = rig.rows_with(|builder| builder.gate(&gate)).await;
    let db = Db::with("old");
    let (mut load, before) = (db.hold(), reader(&rows, &db));
    load.reached().await;
    db.write(1, "new");
    let mut done = gate.hold(Step::Invalidate, Side::BeforeAnswer);
    let invalidation = tokio::spawn({
        let rows = rows.clone();
        async move { rows.invalidate(&1).await }
    });
    done.reached().await;
    assert_eq!(get(&rows, &db).await, some("new"));
    done.release();
    invalidation.await.unwrap().unwrap();
    load.release();
    assert_eq!(row(before).await, some("old"));
}

/// A variant of H1: a load that begins after the invalidation was sent, and before the store has applied it, can find a value that
/// was stored in between. So when the reply arrives, running single-flight calls are closed to new readers once more.
// shows: hazard H1
async fn read_after_invalidation_reply_does_not_join_older_load(rig: Rig) {
    let gate = StepGate::default();
    let rows = rig.rows_with(|builder| builder.gate(&gate)).await;
    let (other, db) = (rig.rows().await, Db::with("old"));
    // The other process has read the old row and not stored it yet.
    let (mut load, elsewhere) = (db.hold(), reader(&other, &db));
    load.reached().await;
    db.write(1, "new");
    let mut sent = gate.hold(Step::Invalidate, Side::BeforeSend);
    let invalidation = tokio::spawn({
        let rows = rows.clone();
        async move { rows.invalidate(&1).await }
    });
    sent.reached().await;
    // A reader finds nothing and is about to ask for a lease.
    let mut asks = gate.hold(Step::Lease, Side::BeforeSend);
    let overlapping = reader(&rows, &db);
    asks.reached().await;
    load.release();
    assert_eq!(row(elsewhere).await, some("old"));
    let mut report = gate.hold(Step::Lease, Side::BeforeAnswer);
    asks.release();
    report.reached().await;
    sent.release();
    invalidation.await.unwrap().unwrap();
    let after = reader(&rows, &db);
    db.until_loads(2).await;
    report.release();
    assert_eq!(row(overlapping).await, some("old"), "it overlaps the invalidation");
    assert_eq!(row(after).await, some("new"));
}

/// This process detects another process's invalidation only when its fill is rejected.
// shows: hazard H1, cache::Freshness::Eventual
async fn waiter_reloads_after_remote_invalidation_rejects_fill(rig: Rig) {
    let gate = StepGate::default();
    let rows = rig.rows_with(|builder| builder.gate(&gate)).await;
    let (writing, db) = (rig.rows().await, Db::with("old"));
    let (mut load, before) = (db.hold(), reader(&rows, &db));
    load.reached().await;
    db.write(1, "new");
    writing.invalidate(&1).await.unwrap();
    let mut looked = gate.hold(Step::Read, Side::BeforeAnswer);
    let after = reader(&rows, &db);
    looked.reached().await;
    looked.release();
    // The runtime has one thread: the reader has joined by the time the load's task has run.
    load.release();
    assert_eq!(row(before).await, some("old"));
    assert_eq!(row(after).await, some("new"));
    assert_eq!(db.loads(), 2);
}

async fn key_invalidated_all_the_time_is_still_read(rig: Rig) {
    let (rows, writing, db) = (rig.rows().await, rig.rows().await, Db::with("a"));
    let (mut first, leader) = (db.hold(), reader(&rows, &db));
    first.reached().await;
    let joiners: Vec<_> = (0..10).map(|_| reader(&rows, &db)).collect();
    writing.invalidate(&1).await.unwrap();
    let mut second = db.hold();
    first.release();
    second.reached().await;
    writing.invalidate(&1).await.unwrap();
    second.release();
    for reader in joiners.into_iter().chain([leader]) {
        assert_eq!(row(reader).await, some("a"));
    }
    assert!(db.loads() <= 3, "{} loads for eleven readers", db.loads());
}

/// H5: a load that runs in its caller's future dies with the request, keeps the lease, and the value is never refreshed.
// shows: C6, hazard H5
async fn load_survives_a_dropped_caller(rig: Rig) {
    let (rows, db) = (rig.rows().await, Db::with("a"));
    let (mut load, leader) = (db.hold(), reader(&rows, &db));
    load.reached().await;
    let joined = reader(&rows, &db);
    leader.abort();
    assert!(leader.await.unwrap_err().is_cancelled());
    load.release();
    assert_eq!(row(joined).await, some("a"));
    assert_eq!(get(&rows, &db).await, some("a"));
    assert_eq!(db.loads(), 1);
}

/// H4: a lease without an expiry, left by a dead loader, blocked all other loaders forever.
// shows: hazard H4
async fn lease_of_a_dead_loader_expires(rig: Rig) {
    let db = Db::with("a");
    let dead = rig.rows().await;
    // Its runtime ends with the load under way, as a process does.
    let (mut load, runtime) =
        (db.hold(), tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap());
    let _orphan = runtime.spawn({
        let (rows, db) = (dead.clone(), db.clone());
        async move { rows.get(&1, |key| db.find(*key)).await }
    });
    load.reached().await;
    runtime.shutdown_background();
    let living = rig.rows().await;
    let value = rig.while_time_passes(async { get(&living, &db).await }).await;
    assert_eq!((value, db.loads()), (some("a"), 2));
}

/// While an invalidation is pending, this process does not trust the store, and it replays the invalidation until done.
// shows: C7, hazard D27, cache::Cache::invalidate, cache::Cache::purge
async fn failed_invalidation_is_replayed_and_blocks_hits(rig: Rig) {
    let gate = StepGate::default();
    let rows = rig.rows_with(|builder| builder.gate(&gate)).await;
    let (other, db) = (rig.rows().await, Db::with("old"));
    get(&rows, &db).await;
    db.write(1, "new");
    let mut sent = gate.hold(Step::Invalidate, Side::BeforeSend);
    let mut again = gate.hold(Step::Invalidate, Side::BeforeSend);
    let invalidation = tokio::spawn({
        let rows = rows.clone();
        async move { rows.invalidate(&1).await }
    });
    sent.reached().await;
    sent.fail(no_answer());
    let error = invalidation.await.unwrap().unwrap_err();
    assert!(error.is_retryable() && error.outcome_unknown(), "{error}");
    again.reached().await;
    assert_eq!(get(&rows, &db).await, some("new"), "the store still has the old value");
    assert_eq!(get(&other, &db).await, some("old"), "another process does not know");
    let mut done = gate.hold(Step::Invalidate, Side::BeforeAnswer);
    again.release();
    done.reached().await;
    done.release();
    assert_eq!(get(&other, &db).await, some("new"));
}

/// A request that is canceled between the commit and the reply must not leave the old value behind.
// shows: C7, hazard D27, cache::Cache::invalidate, cache::Cache::purge
async fn dropped_invalidation_is_completed_later(rig: Rig) {
    let gate = StepGate::default();
    let rows = rig.rows_with(|builder| builder.gate(&gate)).await;
    let db = Db::with("old");
    get(&rows, &db).await;
    db.write(1, "new");
    let mut sent = gate.hold(Step::Invalidate, Side::BeforeSend);
    let invalidation = tokio::spawn({
        let rows = rows.clone();
        async move { rows.invalidate(&1).await }
    });
    sent.reached().await;
    let mut driven = gate.hold(Step::Invalidate, Side::BeforeAnswer);
    invalidation.abort();
    assert!(invalidation.await.unwrap_err().is_cancelled());
    driven.reached().await;
    driven.release();
    assert_eq!(get(&rig.rows().await, &db).await, some("new"));
}

/// A reader waits for another reader's load for a bounded time, then asks the database without storing.
// shows: clock::Clock::timeout
#[tokio::test]
async fn waiting_reader_loads_for_itself_after_wait_max() {
    let rig = Rig::memory();
    let (hanging, db) = (rig.rows_with(|builder| builder.lease(Duration::from_secs(60))).await, Db::with("a"));
    let waiting = rig.rows_with(|builder| builder.wait_max(Duration::from_secs(1))).await;
    let (mut load, _reader) = (db.hold(), reader(&hanging, &db));
    load.reached().await;
    assert_eq!(rig.while_time_passes(async { get(&waiting, &db).await }).await, some("a"));
    assert_eq!(db.loads(), 2);
}
