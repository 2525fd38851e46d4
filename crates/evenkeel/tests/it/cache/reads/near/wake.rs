//! A waiter for another reader's load is woken when the value is stored. Time is frozen in these tests: no timer ever fires,
//! so only a notification can wake a waiter.

use super::super::db::{Db, DbError};
use super::super::rig::{Rig, Rows, in_time, reader, row, some};
use super::stand::Stand;
use evenkeel::cache::CacheError;
use evenkeel::testing::{Side, Step, StepGate};
use std::sync::Arc;
use testkit::CommandTrace;
use testkit::step_command;
use tokio::task::JoinHandle;

on_both! {
    waiters_in_other_processes_wake_when_load_is_stored
    waiters_wake_when_the_row_is_absent
    waiters_wake_when_invalidation_ends_the_load
    waiting_batch_wakes_on_notification
    value_stored_before_waiter_sleeps_is_noticed
}

const READERS: usize = 32;

// shows: C3
async fn waiters_in_other_processes_wake_when_load_is_stored(rig: Rig) {
    let (loads, gate) = (rig.rows().await, StepGate::default());
    let waits = rig.rows_with(|builder| builder.gate(&gate)).await;
    let db = Db::with("a");
    let mut load = db.hold();
    let first = reader(&loads, &db);
    load.reached().await;
    let second = falls_asleep(&waits, &gate, &db).await;
    let readers = (0..READERS).map(|_| reader(&waits, &db));
    let readers: Vec<_> = readers.chain([second]).collect();
    load.release();
    assert_eq!(row(first).await, some("a"));
    for reader in readers {
        assert_eq!(row(reader).await, some("a"));
    }
    assert_eq!(db.loads(), 1);
}

/// A reader that waits, and has read the entry to be notified of its change.
async fn falls_asleep(waits: &Rows, gate: &StepGate, db: &Db) -> JoinHandle<Result<Option<Arc<String>>, CacheError>> {
    let mut asks = gate.hold(Step::Lease, Side::BeforeAnswer);
    let reader = reader(waits, db);
    asks.reached().await;
    let mut sleeps = gate.hold(Step::Read, Side::BeforeAnswer);
    asks.release();
    sleeps.reached().await;
    sleeps.release();
    reader
}

async fn waiters_wake_when_the_row_is_absent(rig: Rig) {
    let (loads, waits) = (rig.rows().await, rig.rows().await);
    let db = Db::new();
    let mut load = db.hold();
    let first = reader(&loads, &db);
    load.reached().await;
    let second = reader(&waits, &db);
    load.release();
    assert_eq!((row(first).await, row(second).await, db.loads()), (None, None, 1));
}

/// The load they wait for has lost its lease; the first to wake gets the next one.
async fn waiters_wake_when_invalidation_ends_the_load(rig: Rig) {
    let (loads, waits, writes) = (rig.rows().await, rig.rows().await, rig.rows().await);
    let db = Db::with("a");
    let mut load = db.hold();
    let first = reader(&loads, &db);
    load.reached().await;
    let second = reader(&waits, &db);
    db.write(1, "b");
    writes.invalidate(&1).await.unwrap();
    assert_eq!(row(second).await, some("b"));
    load.release();
    row(first).await;
}

async fn waiting_batch_wakes_on_notification(rig: Rig) {
    let (loads, waits) = (rig.rows().await, rig.rows().await);
    let db = Db::with("a");
    let mut load = db.hold();
    let first = reader(&loads, &db);
    load.reached().await;
    let batch = tokio::spawn({
        let (waits, db) = (waits.clone(), db.clone());
        async move { waits.get_many(&[1, 2], |keys| db.find_many(keys)).await.unwrap() }
    });
    // The batch has loaded its own key.
    db.until_loads(2).await;
    load.release();
    row(first).await;
    assert_eq!(batch.await.unwrap()[&1].as_deref().map(String::as_str), Some("a"));
    assert_eq!(db.loads(), 2);
}

/// The value is stored after the reply that makes the waiter wait, and before the waiter reads the entry to be notified of changes.
async fn value_stored_before_waiter_sleeps_is_noticed(rig: Rig) {
    let (loads, gate) = (rig.rows().await, StepGate::default());
    let waits = rig.rows_with(|builder| builder.gate(&gate)).await;
    let db = Db::with("a");
    let mut load = db.hold();
    let first = reader(&loads, &db);
    load.reached().await;
    let mut asked = gate.hold(Step::Lease, Side::BeforeAnswer);
    let second = reader(&waits, &db);
    asked.reached().await;
    load.release();
    assert_eq!(row(first).await, some("a"));
    asked.release();
    assert_eq!((row(second).await, db.loads()), (some("a"), 1));
}

/// Asking again and again would cost a script each time: while it waits, a process sends nothing.
// shows: C3
#[tokio::test]
async fn waiter_sends_two_requests_for_any_wait() {
    in_time(async {
        let stand = Stand::start("").await;
        let (loads, gate) = (stand.elsewhere.clone(), StepGate::default());
        let waits = stand.rows(|builder| builder.gate(&gate)).await;
        let db = Db::with("a");
        let mut trace = CommandTrace::start(&stand.redis).await.unwrap();
        let mut load = db.hold();
        let first = reader(&loads, &db);
        load.reached().await;
        let second = falls_asleep(&waits, &gate, &db).await;
        load.release();
        assert_eq!((row(first).await, row(second).await), (some("a"), some("a")));
        let sent = trace.take(&stand.redis).await.unwrap().from_clients().on_prefix("evenkeel:c:row:{");
        assert_eq!((sent.count(step_command()), sent.count("GET")), (4, 3), "{:?}", sent.names());
    })
    .await;
}

/// After a failed load no lease is granted until the retry delay has elapsed: then the waiter loads.
#[tokio::test]
async fn waiter_continues_after_the_failure_delay() {
    in_time(async {
        let rig = Rig::memory();
        let (loads, waits) = (rig.rows().await, rig.rows().await);
        let db = Db::with("a");
        let mut load = db.hold();
        db.fail(Some(DbError("no")));
        let first = reader(&loads, &db);
        load.reached().await;
        let second = reader(&waits, &db);
        load.release();
        assert!(first.await.unwrap().is_err());
        db.fail(None);
        let second = rig.while_time_passes(second).await;
        assert_eq!(second.unwrap().unwrap().as_deref().map(String::as_str), Some("a"));
    })
    .await;
}

/// Without Redis there are no notifications: a waiter does not sleep until its timer.
#[tokio::test]
async fn waiter_wakes_when_redis_goes_away() {
    in_time(async {
        let stand = Stand::start("heartbeat_ms=50").await;
        let gate = StepGate::default();
        let waits = stand.rows(|builder| builder.gate(&gate)).await;
        let db = Db::with("a");
        let mut load = db.hold();
        let first = reader(&stand.elsewhere, &db);
        load.reached().await;
        let second = falls_asleep(&waits, &gate, &db).await;
        stand.proxy.refuse(true).await.unwrap();
        stand.proxy.cut();
        assert_eq!(row(second).await, some("a"), "loaded without the store");
        load.release();
        row(first).await;
    })
    .await;
}
