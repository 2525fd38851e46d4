//! A database that does not answer the statement of a lock in rows.

use super::rig::{Rig, Sql, in_time};
use evenkeel::Keel;
use evenkeel::lock::{ReleaseOutcome, Wait};
use evenkeel::testing::TestClock;
use sqlx::{MySql, Postgres};
use std::time::Duration;

/// Another transaction has the row, and the server says nothing.
async fn silence<DB: Sql>() {
    let clock = TestClock::default();
    let rig = Rig::<DB>::with(Keel::builder().clock(clock.clock()).memory()).await;
    let locks = rig.keel.row_locks(&rig.pool);
    locks.lock("a").acquire().await.unwrap().release().await.unwrap();
    let mut other = rig.pool.begin().await.unwrap();
    DB::run(&mut other, "UPDATE evenkeel_locks SET fence = fence + 1").await.unwrap();
    let mut acquire = std::pin::pin!(locks.lock("a").wait(Wait::Forever).acquire());
    let error = loop {
        // The pause is real, so that the server could answer before the clock moves on.
        match tokio::time::timeout(Duration::from_millis(2), &mut acquire).await {
            Ok(answer) => break answer.unwrap_err(),
            Err(_) => clock.advance(Duration::from_millis(100)),
        }
    };
    assert!(error.to_string().contains("did not answer a lock's statement within 5 s"), "{error}");
    assert!(error.is_retryable() && error.outcome_unknown(), "{error:?}");
    other.rollback().await.unwrap();
    // Locks whose requests received no reply are released afterwards.
    let mut acquire = std::pin::pin!(locks.lock("a").wait(Wait::Forever).acquire());
    let guard = loop {
        match tokio::time::timeout(Duration::from_millis(2), &mut acquire).await {
            Ok(answer) => break answer.unwrap(),
            Err(_) => clock.advance(Duration::from_millis(100)),
        }
    };
    assert_eq!(guard.release().await.unwrap(), ReleaseOutcome::Released);
}

// shows: KR1
#[tokio::test]
async fn unanswered_row_lock_is_in_doubt_after_5_s_on_mariadb() {
    Box::pin(in_time(silence::<MySql>())).await;
}

// shows: KR1
#[tokio::test]
async fn unanswered_row_lock_is_in_doubt_after_5_s_on_postgres() {
    Box::pin(in_time(silence::<Postgres>())).await;
}
