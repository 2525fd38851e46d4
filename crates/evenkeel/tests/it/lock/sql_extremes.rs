//! Locks in rows and advisory locks with every term at its extremes, and with names that a database may take for one another.

use super::side::extremes::all_terms;
use super::side::rig::in_time;
use evenkeel::Keel;
use evenkeel::lock::{AdvisoryDatabase, ExclusiveLocks, LockError, LockTerms, ReleaseOutcome};
use evenkeel::sql::migrate;
use sqlx::{MySql, Pool, Postgres, Sqlite};
use std::time::Duration;
use testkit::conformance::exclusive::Served;

/// Names that a collation may treat as equal, or that a driver may truncate.
pub(crate) const NAMES: [&str; 9] =
    ["a", "A", "a ", "\u{e4}", "a\u{308}", "\u{df}", "ss", "\u{1f980}\u{65e5}", "%_'\"\\"];

/// A request whose grant came too late leaves the server's queue only later; until then the lock is busy for the next one.
async fn until_free(locks: &dyn ExclusiveLocks) {
    let guard = locks.acquire("a", &LockTerms::default()).await.unwrap();
    assert_eq!(guard.release().await.unwrap(), ReleaseOutcome::Released);
}

async fn everything_at_its_extremes(locks: &dyn ExclusiveLocks) {
    for (what, terms) in all_terms() {
        match locks.acquire("a", &terms).await {
            Ok(guard) => {
                assert!(!guard.is_lost() && !guard.remaining().is_zero(), "{what}");
                assert_eq!(guard.release().await.unwrap(), ReleaseOutcome::Released, "{what}");
            }
            Err(LockError::Invalid(_)) => {}
            // A database may take longer than the shortest hold to open the connection of a lock; the grant then came too late.
            Err(LockError::Busy { .. }) if what.contains("50ms") => until_free(locks).await,
            Err(error) => panic!("{what}: {error}"),
        }
    }
    let mut held = Vec::new();
    for name in NAMES {
        held.push(locks.try_acquire(name, &LockTerms::default()).await.unwrap().unwrap_or_else(|| panic!("{name:?}")));
    }
    for (guard, name) in held.into_iter().zip(NAMES) {
        assert!(locks.try_acquire(name, &LockTerms::default()).await.unwrap().is_none(), "{name:?}");
        assert_eq!(guard.release().await.unwrap(), ReleaseOutcome::Released, "{name:?}");
    }
    for name in ["", "\0", &"x".repeat(513)] {
        let refused = locks.try_acquire(name, &LockTerms::default()).await;
        assert!(matches!(refused, Err(LockError::Invalid(_))), "{refused:?}");
    }
}

async fn row_locks_at_their_extremes<DB: Served>() {
    in_time(Box::pin(async {
        let database = DB::fresh().await.unwrap();
        let pool = Pool::<DB>::connect(&database.url).await.unwrap();
        migrate(&pool).await.unwrap();
        let locks = Keel::memory().row_locks(&pool);
        everything_at_its_extremes(&locks).await;
        for unused in [Duration::MAX, Duration::from_millis(u64::MAX), Duration::ZERO] {
            locks.prune(unused).await.unwrap();
        }
        locks.lock("a").acquire().await.unwrap().release().await.unwrap();
    }))
    .await;
}

async fn advisory_locks_at_their_extremes<DB: Served + AdvisoryDatabase>() {
    in_time(Box::pin(async {
        let database = DB::fresh().await.unwrap();
        // Each lock has its own connection.
        let pool = sqlx::pool::PoolOptions::<DB>::new().max_connections(20).connect(&database.url).await.unwrap();
        everything_at_its_extremes(&Keel::memory().advisory_locks(&pool)).await;
    }))
    .await;
}

// shows: hazard AL12
#[tokio::test]
async fn extreme_row_locks_work_or_are_rejected_on_sqlite() {
    row_locks_at_their_extremes::<Sqlite>().await;
}

// shows: hazard AL12
#[tokio::test]
async fn extreme_row_locks_work_or_are_rejected_on_mariadb() {
    row_locks_at_their_extremes::<MySql>().await;
}

// shows: hazard AL12
#[tokio::test]
async fn extreme_row_locks_work_or_are_rejected_on_postgres() {
    row_locks_at_their_extremes::<Postgres>().await;
}

// shows: hazard AL12, hazard B8
#[tokio::test]
async fn extreme_advisory_locks_work_or_are_rejected_on_mariadb() {
    advisory_locks_at_their_extremes::<MySql>().await;
}

// shows: hazard AL12
#[tokio::test]
async fn extreme_advisory_locks_work_or_are_rejected_on_postgres() {
    advisory_locks_at_their_extremes::<Postgres>().await;
}
