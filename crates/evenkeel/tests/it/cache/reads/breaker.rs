//! A store that does not answer costs a few readers its time-out, and not all of them.

use super::db::Db;
use super::rig::{Rig, Rows, find, get, no_answer, reader, row, some};
use evenkeel::cache::{Invalidated, Side, Step, StepGate, Tier};
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(500);

on_both! {
    after_three_silent_reads_the_store_is_left_alone
    an_answer_in_between_begins_the_count_anew
    one_reader_tries_and_the_others_do_not_wait
    a_try_that_fails_opens_it_again
    a_reader_that_goes_away_leaves_the_try_to_the_next
    an_invalidation_is_sent_whatever_the_breaker_says
    a_silent_answer_to_a_lease_counts_too
    a_batch_counts_and_is_kept_away_too
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

/// Every reader waited for the time-out of a silent Redis, for as long as it was silent.
async fn after_three_silent_reads_the_store_is_left_alone(rig: Rig) {
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

async fn an_answer_in_between_begins_the_count_anew(rig: Rig) {
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

async fn one_reader_tries_and_the_others_do_not_wait(rig: Rig) {
    let (rows, db, gate) = open(&rig).await;
    rig.advance(PAUSE).await;
    let mut probe = gate.hold(Step::Read, Side::BeforeSend);
    let first = reader(&rows, &db);
    probe.reached().await;
    // Were they let through, they would find the value, and not load.
    for _ in 0..10 {
        assert_eq!(tier(&rows, &db).await, Tier::Loader);
    }
    probe.release();
    assert_eq!(row(first).await, some("a"));
    assert_eq!(tier(&rows, &db).await, Tier::Store);
}

async fn a_try_that_fails_opens_it_again(rig: Rig) {
    let (rows, db, gate) = open(&rig).await;
    rig.advance(PAUSE).await;
    silence(&gate);
    for _ in 0..3 {
        assert_eq!(tier(&rows, &db).await, Tier::Loader);
    }
    rig.advance(PAUSE).await;
    assert_eq!(tier(&rows, &db).await, Tier::Store);
}

async fn a_reader_that_goes_away_leaves_the_try_to_the_next(rig: Rig) {
    let (rows, db, gate) = open(&rig).await;
    rig.advance(PAUSE).await;
    let mut probe = gate.hold(Step::Read, Side::BeforeSend);
    let first = reader(&rows, &db);
    probe.reached().await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    assert_eq!(tier(&rows, &db).await, Tier::Store);
}

/// C7: a read can do without the store; an invalidation that does without it is a stale value somewhere else.
async fn an_invalidation_is_sent_whatever_the_breaker_says(rig: Rig) {
    let (rows, db, _gate) = open(&rig).await;
    db.write(1, "b");
    assert_eq!(rows.invalidate(&1).await.unwrap(), Invalidated::Done);
    let elsewhere = rig.rows().await;
    assert_eq!(get(&elsewhere, &db).await, some("b"));
}

async fn a_silent_answer_to_a_lease_counts_too(rig: Rig) {
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

async fn a_batch_counts_and_is_kept_away_too(rig: Rig) {
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
