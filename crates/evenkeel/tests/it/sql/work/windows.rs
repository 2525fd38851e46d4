//! Strong caches (U6), and invalidations before jobs.

use crate::sql::rig::{Rig, Sql};
use evenkeel::cache::{Cache, CacheError, Freshness};
use evenkeel::link::LinkError;
use evenkeel::sql::{Left, SqlError};
use evenkeel::testing::{Side, Step, StepGate};
use std::time::Duration;

on_each! {
    strong_cache_keeps_its_window_open_across_the_commit
    unconfirmed_window_rejects_the_commit
    job_that_runs_at_once_reads_no_older_value
    failed_effect_is_left_to_the_relay
}

async fn strong<DB: Sql>(rig: &Rig<DB>, gate: &StepGate) -> Cache<i64, i64> {
    let builder = rig.keel.cache("strong").ttl(Duration::from_secs(600)).freshness(Freshness::Fresh);
    builder.gate(gate).open().await.unwrap()
}

fn no_answer() -> CacheError {
    LinkError::NoAnswer { reason: "the test says so" }.into()
}

// shows: U6
async fn strong_cache_keeps_its_window_open_across_the_commit<DB: Sql>(rig: Rig<DB>) {
    let gate = StepGate::default();
    let strong = strong(&rig, &gate).await;
    let (mut begins, mut ends) =
        (gate.hold(Step::BeginWrite, Side::BeforeSend), gate.hold(Step::EndWrite, Side::BeforeSend));
    let mut work = rig.keel.begin(&rig.pool).await.unwrap();
    DB::run(work.tx(), "UPDATE stock SET units = 9 WHERE id = 1").await.unwrap();
    work.invalidate(&strong, &1).unwrap();
    let commit = tokio::spawn(work.commit());
    begins.reached().await;
    assert_eq!(rig.units().await, 10, "nothing is committed before the window is open");
    begins.release();
    ends.reached().await;
    assert_eq!(rig.units().await, 9, "the window is ended after the commit");
    ends.release();
    let committed = commit.await.unwrap().unwrap();
    assert!(committed.window.unwrap().is_closed() && committed.carried_out);
}

// shows: U6, sql::Work::commit
async fn unconfirmed_window_rejects_the_commit<DB: Sql>(rig: Rig<DB>) {
    for side in [Side::BeforeSend, Side::BeforeAnswer] {
        let gate = StepGate::default();
        let strong = strong(&rig, &gate).await;
        let mut begins = gate.hold(Step::BeginWrite, side);
        let mut work = rig.keel.begin(&rig.pool).await.unwrap();
        DB::run(work.tx(), "UPDATE stock SET units = 9 WHERE id = 1").await.unwrap();
        work.invalidate(&strong, &1).unwrap();
        let commit = tokio::spawn(work.commit());
        begins.reached().await;
        begins.fail(no_answer());
        let error = commit.await.unwrap().unwrap_err();
        assert!(matches!(error, SqlError::Window(_)) && error.is_retryable() && !error.outcome_unknown(), "{error}");
        assert_eq!((rig.units().await, rig.outbox_rows(1).await), (10, 0));
    }
}

// shows: U2
async fn job_that_runs_at_once_reads_no_older_value<DB: Sql>(rig: Rig<DB>) {
    let gate = StepGate::default();
    let cache = rig.keel.cache::<i64, i64>("gated").ttl(Duration::from_secs(600)).gate(&gate).open().await.unwrap();
    let mut invalidates = gate.hold(Step::Invalidate, Side::BeforeSend);
    let mut work = rig.keel.begin(&rig.pool).await.unwrap();
    let job = work.enqueue(rig.mail.job(&"sold".to_owned())).unwrap();
    work.invalidate(&cache, &1).unwrap();
    let commit = tokio::spawn(work.commit());
    invalidates.reached().await;
    assert!(rig.mail.find(&job).await.unwrap().is_none(), "the cache is invalidated first");
    invalidates.release();
    commit.await.unwrap().unwrap();
    assert!(rig.mail.find(&job).await.unwrap().is_some());
}

/// After an acknowledged commit, a failed effect is not reported as an error of the commit.
// shows: U2, sql::Work::commit
async fn failed_effect_is_left_to_the_relay<DB: Sql>(rig: Rig<DB>) {
    let gate = StepGate::default();
    let cache = rig.keel.cache::<i64, i64>("gated").ttl(Duration::from_secs(600)).gate(&gate).open().await.unwrap();
    let mut invalidates = gate.hold(Step::Invalidate, Side::BeforeSend);
    let mut work = rig.keel.begin(&rig.pool).await.unwrap();
    work.invalidate(&cache, &1).unwrap();
    let commit = tokio::spawn(work.commit());
    invalidates.reached().await;
    invalidates.fail(no_answer());
    let committed = commit.await.unwrap().unwrap();
    assert_eq!((committed.carried_out, committed.left), (false, Left::Effects));
    assert_eq!(rig.outbox_rows(1).await, 1, "its row waits");
}
