//! Events between a read and the insert of its value. The reply and the push share a socket, but the reader's task may
//! continue long after both: redis-rs, cashews and lettuce inserted the old value then, and served it until its local ttl.

use super::super::db::Db;
use super::super::rig::{Rig, get, reader, row, some};
use super::{fill_near, near_with, notified, tier};
use evenkeel::cache::Tier;
use evenkeel::testing::{Side, Step, StepGate};

on_both! {
    push_between_read_and_insert_prevents_near_value
    own_write_between_read_and_insert_prevents_near_value
    eviction_between_read_and_insert_prevents_near_value
    dropped_reader_leaves_no_near_placeholder
    second_reader_does_not_wait_for_near_placeholder
}

// shows: C1, hazard D12, hazard N1
async fn push_between_read_and_insert_prevents_near_value(rig: Rig) {
    let gate = StepGate::default();
    let keel = rig.process().await;
    let (here, elsewhere) = (near_with(&keel, |builder| builder.gate(&gate)).await, rig.rows().await);
    let db = Db::with("a");
    get(&here, &db).await;
    let mut held = gate.hold(Step::Read, Side::BeforeAnswer);
    let early = reader(&here, &db);
    held.reached().await;
    db.write(1, "b");
    elsewhere.invalidate(&1).await.unwrap();
    notified(&keel).await;
    held.release();
    assert_eq!(row(early).await, some("a"), "it overlapped the invalidation");
    assert_eq!(get(&here, &db).await, some("b"));
}

// shows: hazard N1
async fn own_write_between_read_and_insert_prevents_near_value(rig: Rig) {
    let gate = StepGate::default();
    let rows = near_with(&rig.process().await, |builder| builder.gate(&gate)).await;
    let db = Db::with("a");
    get(&rows, &db).await;
    let mut held = gate.hold(Step::Read, Side::BeforeAnswer);
    let early = reader(&rows, &db);
    held.reached().await;
    db.write(1, "b");
    rows.invalidate(&1).await.unwrap();
    held.release();
    assert_eq!(row(early).await, some("a"), "it overlapped the invalidation");
    assert_eq!(get(&rows, &db).await, some("b"));
}

/// The eviction is notified, the invalidation after it is not: there was nothing to invalidate.
// shows: hazard N1
async fn eviction_between_read_and_insert_prevents_near_value(rig: Rig) {
    let gate = StepGate::default();
    let keel = rig.process().await;
    let (here, elsewhere) = (near_with(&keel, |builder| builder.gate(&gate)).await, rig.rows().await);
    let db = Db::with("a");
    get(&here, &db).await;
    let mut held = gate.hold(Step::Read, Side::BeforeAnswer);
    let early = reader(&here, &db);
    held.reached().await;
    rig.evict(1).await;
    db.write(1, "b");
    elsewhere.invalidate(&1).await.unwrap();
    notified(&keel).await;
    held.release();
    row(early).await;
    assert_eq!(get(&here, &db).await, some("b"));
}

async fn dropped_reader_leaves_no_near_placeholder(rig: Rig) {
    let gate = StepGate::default();
    let rows = near_with(&rig.process().await, |builder| builder.gate(&gate)).await;
    let db = Db::with("a");
    get(&rows, &db).await;
    let mut held = gate.hold(Step::Read, Side::BeforeAnswer);
    let leaves = reader(&rows, &db);
    held.reached().await;
    leaves.abort();
    assert!(leaves.await.unwrap_err().is_cancelled());
    fill_near(&rows, &db).await;
    drop(held);
}

/// If they waited for each other's answers, a server that does not answer would cost each of them its own timeout, one after
/// another.
async fn second_reader_does_not_wait_for_near_placeholder(rig: Rig) {
    let gate = StepGate::default();
    let rows = near_with(&rig.process().await, |builder| builder.gate(&gate)).await;
    let db = Db::with("a");
    get(&rows, &db).await;
    let mut held = gate.hold(Step::Read, Side::BeforeSend);
    let first = reader(&rows, &db);
    held.reached().await;
    assert_eq!(tier(&rows, &db).await, Tier::Store);
    held.release();
    assert_eq!(row(first).await, some("a"));
    assert_eq!(tier(&rows, &db).await, Tier::Near);
}
