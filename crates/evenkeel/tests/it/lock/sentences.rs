//! Documented guarantees of locks on SQL that no other test covers.

use evenkeel::Keel;
use evenkeel::lock::{AdvisoryDatabase, LockError, LockName, LockTerms};
use evenkeel::sql::migrate;
use sqlx::{MySql, Pool, Postgres, Sqlite};
use std::time::Duration;
use testkit::conformance::exclusive::Served;

/// Rows of names that are used once would stay forever; a name whose row was deleted must not begin with low fences again.
// shows: lock::RowLocks::held, lock::RowLocks::prune
async fn pruned_row_lock_returns_with_higher_fence<DB: Served>() {
    let database = DB::fresh().await.unwrap();
    let pool = Pool::<DB>::connect(&database.url).await.unwrap();
    migrate(&pool).await.unwrap();
    let locks = Keel::memory().row_locks(&pool);
    let guard = locks.lock("a").acquire().await.unwrap();
    let fence = guard.fence();
    assert_eq!(locks.held().await.unwrap(), [LockName::new("a").unwrap()]);
    assert_eq!(locks.prune(Duration::ZERO).await.unwrap(), 0, "it is held");
    guard.release().await.unwrap();
    assert_eq!(locks.held().await.unwrap(), []);
    assert_eq!(locks.prune(Duration::from_secs(3_600)).await.unwrap(), 0, "it was held a moment ago");
    assert_eq!(locks.prune(Duration::ZERO).await.unwrap(), 1);
    assert!(locks.lock("a").acquire().await.unwrap().fence() > fence);
}

#[tokio::test]
async fn pruned_row_lock_returns_with_higher_fence_on_sqlite() {
    pruned_row_lock_returns_with_higher_fence::<Sqlite>().await;
}

#[tokio::test]
async fn pruned_row_lock_returns_with_higher_fence_on_mariadb() {
    pruned_row_lock_returns_with_higher_fence::<MySql>().await;
}

#[tokio::test]
async fn pruned_row_lock_returns_with_higher_fence_on_postgres() {
    pruned_row_lock_returns_with_higher_fence::<Postgres>().await;
}

/// Terms that are silently ignored let a program believe that its metadata is readable, or that an expired lock has a lock
/// delay.
async fn advisory_locks_reject_metadata_and_delay<DB: Served + AdvisoryDatabase>() {
    let database = DB::fresh().await.unwrap();
    let pool = Pool::<DB>::connect(&database.url).await.unwrap();
    let locks = Keel::memory().advisory_locks(&pool);
    let terms = LockTerms::default();
    for terms in [terms.clone().metadata("counter 7"), terms.lock_delay(Duration::from_secs(1))] {
        let refused = locks.try_acquire("a", &terms).await;
        assert!(matches!(refused, Err(LockError::Invalid(_))), "{refused:?}");
    }
}

// shows: lock::AdvisoryLocks::acquire
#[tokio::test]
async fn advisory_locks_reject_metadata_and_delay_on_mariadb() {
    advisory_locks_reject_metadata_and_delay::<MySql>().await;
}

// shows: lock::AdvisoryLocks::acquire
#[tokio::test]
async fn advisory_locks_reject_metadata_and_delay_on_postgres() {
    advisory_locks_reject_metadata_and_delay::<Postgres>().await;
}
