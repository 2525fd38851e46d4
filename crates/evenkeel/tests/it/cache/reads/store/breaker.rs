//! The circuit breaker: only a few readers wait for the timeout of a store that does not respond.

use crate::cache::reads::db::Db;
use crate::cache::reads::rig::{Rig, Rows, find, get, no_answer, reader, row, some};
use evenkeel::cache::{Invalidated, Tier};
use evenkeel::testing::{Side, Step, StepGate};
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(500);

on_both! {
    breaker_opens_after_three_unanswered_reads
    answer_resets_the_breaker_count
    half_open_breaker_lets_one_reader_probe
    failed_probe_reopens_the_breaker
    dropped_probe_lets_the_next_reader_probe
    open_breaker_does_not_block_invalidations
    breaker_counts_unanswered_leases
    breaker_counts_and_blocks_batches
}

/// Makes the next read end without an answer.
fn silence(gate: &StepGate) {
    gate.hold(Step::Read, Side::BeforeSend).fail(no_answer());
}

/// A cache whose breaker is open; the store has `a`.
async fn open(rig: &Rig) -> (Rows, Db, StepGate) {
    let gate = StepGate::default();
    let (rows, db) = (rig.rows_with(|builder| builder.gate(&gate)).await, Db::with("a"));
    get(&rows, &db).await;
    for loads in 2..=4 {
        silence(&gate);
        assert_eq!(tier(&rows, &db).await, Tier::Loader);
        assert_eq!(db.loads(), loads);
    }
    (rows, db, gate)
}

async fn tier(rows: &Rows, db: &Db) -> Tier {
    find(rows, db).await.unwrap().tier
}

/// Every reader waited for the timeout of a silent Redis, for as long as it was silent.
// shows: C9
async fn breaker_opens_after_three_unanswered_reads(rig: Rig) {
    let (rows, db, _gate) = open(&rig).await;
    for _ in 0..10 {
        assert_eq!(tier(&rows, &db).await, Tier::Loader);
    }
    assert_eq!(db.loads(), 14);
    rig.advance(PAUSE).await;
    for _ in 0..10 {
        assert_eq!(tier(&rows, &db).await, Tier::Store);
    }
}

async fn answer_resets_the_breaker_count(rig: Rig) {
    let gate = StepGate::default();
    let (rows, db) = (rig.rows_with(|builder| builder.gate(&gate)).await, Db::with("a"));
    get(&rows, &db).await;
    for _ in 0..3 {
        for _ in 0..2 {
            silence(&gate);
            assert_eq!(tier(&rows, &db).await, Tier::Loader);
        }
        assert_eq!(tier(&rows, &db).await, Tier::Store);
    }
}

async fn half_open_breaker_lets_one_reader_probe(rig: Rig) {
    let (rows, db, gate) = open(&rig).await;
    rig.advance(PAUSE).await;
    let mut probe = gate.hold(Step::Read, Side::BeforeSend);
    let first = reader(&rows, &db);
    probe.reached().await;
    // Readers that the breaker admitted would find the value and not load.
    for _ in 0..10 {
        assert_eq!(tier(&rows, &db).await, Tier::Loader);
    }
    probe.release();
    assert_eq!(row(first).await, some("a"));
    assert_eq!(tier(&rows, &db).await, Tier::Store);
}

async fn failed_probe_reopens_the_breaker(rig: Rig) {
    let (rows, db, gate) = open(&rig).await;
    rig.advance(PAUSE).await;
    silence(&gate);
    for _ in 0..3 {
        assert_eq!(tier(&rows, &db).await, Tier::Loader);
    }
    rig.advance(PAUSE).await;
    assert_eq!(tier(&rows, &db).await, Tier::Store);
}

async fn dropped_probe_lets_the_next_reader_probe(rig: Rig) {
    let (rows, db, gate) = open(&rig).await;
    rig.advance(PAUSE).await;
    let mut probe = gate.hold(Step::Read, Side::BeforeSend);
    let first = reader(&rows, &db);
    probe.reached().await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    assert_eq!(tier(&rows, &db).await, Tier::Store);
}

/// C7: a read can bypass the store; an invalidation that bypasses it leaves a stale value in other processes.
// shows: C7
async fn open_breaker_does_not_block_invalidations(rig: Rig) {
    let (rows, db, _gate) = open(&rig).await;
    db.write(1, "b");
    assert_eq!(rows.invalidate(&1).await.unwrap(), Invalidated::Done);
    let elsewhere = rig.rows().await;
    assert_eq!(get(&elsewhere, &db).await, some("b"));
}

async fn breaker_counts_unanswered_leases(rig: Rig) {
    let gate = StepGate::default();
    let (rows, db) = (rig.rows_with(|builder| builder.gate(&gate).breaker(1, PAUSE)).await, Db::with("a"));
    gate.hold(Step::Lease, Side::BeforeSend).fail(no_answer());
    assert_eq!(get(&rows, &db).await, some("a"));
    let elsewhere = rig.rows().await;
    get(&elsewhere, &db).await;
    assert_eq!(tier(&rows, &db).await, Tier::Loader);
    rig.advance(PAUSE).await;
    assert_eq!(tier(&rows, &db).await, Tier::Store);
}

async fn breaker_counts_and_blocks_batches(rig: Rig) {
    let gate = StepGate::default();
    let (rows, db) = (rig.rows_with(|builder| builder.gate(&gate).breaker(1, PAUSE)).await, Db::with("a"));
    get(&rows, &db).await;
    silence(&gate);
    for loads in 2..=3 {
        let found = rows.get_many(&[1, 2], |missing| db.find_many(missing)).await.unwrap();
        assert_eq!((found[&1].as_deref(), db.loads()), (some("a").as_ref(), loads));
    }
    rig.advance(PAUSE).await;
    rows.get_many(&[1], |missing| db.find_many(missing)).await.unwrap();
    assert_eq!(db.loads(), 3);
}
