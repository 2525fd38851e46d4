//! Transactions that are repeated after a conflict.

use crate::sql::rig::{Rig, Sql};
use evenkeel::Keel;
use evenkeel::sql::{
    Approach, Conflict, ConflictError, ConflictPolicy, Contended, ForUpdate, OptimisticError, SqlError, Stale,
};
use sqlx::Connection;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;

on_each! {
    version_compare_loses_no_update
    repeated_conflicts_switch_to_pessimistic_locking
    panicking_or_hanging_work_frees_rows_and_connections
}

fn quick() -> ConflictPolicy {
    ConflictPolicy::default().delays(Duration::from_millis(1), Duration::from_millis(20))
}

/// One unit less of product 1, as the table of the rig knows it: the number of units is its own version.
async fn take_one<DB: Sql>(rig: &Rig<DB>, approach: Approach) -> Result<i64, OptimisticError> {
    const READ: &str = "SELECT units FROM stock WHERE id = 1";
    match approach {
        Approach::Optimistic => {
            let mut connection = rig.pool.acquire().await?;
            let units = DB::number(&mut connection, READ).await?.unwrap_or(0);
            tokio::task::yield_now().await;
            let left = units - 1;
            let write = format!("UPDATE stock SET units = {left} WHERE id = 1 AND units = {units}");
            Stale::unless(DB::run(&mut connection, &write).await?)?;
            Ok(left)
        }
        Approach::Pessimistic => {
            let mut work = rig.keel.begin_locking(&rig.pool, Duration::from_secs(10)).await?;
            let units = DB::number(work.tx()?, &ForUpdate::Wait.of::<DB>(READ).0).await?.unwrap_or(0);
            let left = units - 1;
            DB::run(work.tx()?, &format!("UPDATE stock SET units = {left} WHERE id = 1")).await?;
            work.commit().await?;
            Ok(left)
        }
    }
}

/// The lost update: two transactions read the same state, and each wrote its result.
// shows: KC1, sql::Stale::unless
async fn version_compare_loses_no_update<DB: Sql>(rig: Rig<DB>) {
    let rig = Arc::new(rig);
    let mut tasks = JoinSet::new();
    for _ in 0..6 {
        let rig = Arc::clone(&rig);
        tasks.spawn(async move {
            let policy = quick().attempts(200);
            rig.keel.retry_on_conflict(&policy, || take_one(&rig, Approach::Optimistic)).await.unwrap()
        });
    }
    let mut left = tasks.join_all().await;
    left.sort_unstable();
    assert_eq!(left, [4, 5, 6, 7, 8, 9], "each has taken one of ten");
    assert_eq!(rig.units().await, 4);
}

// shows: KC1, sql::Keel::retry_adaptively
async fn repeated_conflicts_switch_to_pessimistic_locking<DB: Sql>(rig: Rig<DB>) {
    use Approach::{Optimistic, Pessimistic};
    let (rig, approaches, policy) = (&rig, RefCell::new(Vec::new()), quick());
    let taken = rig.keel.retry_adaptively(&policy, 2, |approach| {
        approaches.borrow_mut().push(approach);
        async move {
            if approach == Optimistic {
                // Another writer commits first in each attempt.
                DB::run(&mut *rig.pool.acquire().await?, "UPDATE stock SET units = units - 1 WHERE id = 1").await?;
                return Err(Stale.into());
            }
            take_one(rig, approach).await
        }
    });
    assert_eq!(taken.await.unwrap(), 10 - 2 - 1);
    assert_eq!(approaches.into_inner(), [Optimistic, Optimistic, Pessimistic]);
}

/// Work that panics, or hangs until it is dropped, in the middle of its transaction: more often than the pool has connections.
async fn panicking_or_hanging_work_frees_rows_and_connections<DB: Sql>(rig: Rig<DB>) {
    let rig = Arc::new(rig);
    for round in 0..12 {
        let (own, hangs) = (Arc::clone(&rig), Arc::new(Notify::new()));
        let reported = Arc::clone(&hangs);
        let task = tokio::spawn(async move {
            let policy = quick();
            let worked = own.keel.retry_on_conflict(&policy, || async {
                let mut work = own.keel.begin_locking(&own.pool, Duration::from_secs(10)).await?;
                DB::run(work.tx()?, "UPDATE stock SET units = units - 1 WHERE id = 1").await?;
                assert!(round % 2 == 1, "it panics");
                reported.notify_one();
                std::future::pending::<()>().await;
                work.commit().await?;
                Ok::<(), OptimisticError>(())
            });
            worked.await
        });
        if round % 2 == 1 {
            hangs.notified().await;
            task.abort();
        }
        assert!(task.await.is_err());
    }
    let policy = quick().attempts(200);
    let left = rig.keel.retry_on_conflict(&policy, || take_one(&rig, Approach::Pessimistic)).await.unwrap();
    assert_eq!((left, rig.units().await), (9, 9), "nothing of theirs was committed");
}

/// The work runs at least once, and at most as often as configured, for every delay.
#[tokio::test]
async fn every_extreme_retry_policy_is_accepted() {
    let keel = Keel::memory();
    let spans = [Duration::ZERO, Duration::from_nanos(1), Duration::MAX];
    for (attempts, expected) in [(0, 1), (1, 1), (2, 2)] {
        for (min, max) in spans.iter().flat_map(|min| spans.map(|max| (*min, max))) {
            // The pause before a second attempt would be a day.
            if expected > 1 && min == Duration::MAX {
                continue;
            }
            let policy = ConflictPolicy::default().attempts(attempts).delays(min, max);
            for conflicts_max in [0, 1, u32::MAX] {
                let mut approaches = Vec::new();
                let given_up = keel.retry_adaptively(&policy, conflicts_max, |approach| {
                    approaches.push(approach);
                    async { Err::<(), _>(Stale) }
                });
                assert!(matches!(given_up.await, Err(ConflictError::GaveUp { attempts, .. }) if attempts == expected));
                assert_eq!(approaches.len(), expected as usize);
                assert_eq!(approaches[0] == Approach::Pessimistic, conflicts_max == 0);
            }
        }
    }
}

/// An endless loop of retries keeps a hot row hot and its callers waiting.
// shows: KC1, sql::Keel::retry_on_conflict
#[tokio::test]
async fn retries_are_bounded_and_reported() {
    let mut calls = 0;
    let (keel, policy) = (Keel::memory(), quick().attempts(3));
    let given_up = keel.retry_on_conflict(&policy, || {
        calls += 1;
        let answer = if calls > 10 { Ok(()) } else { Err(Stale) };
        async move { answer }
    });
    let error = given_up.await.unwrap_err();
    assert!(error.is_retryable());
    let said = "gave up after 3 attempts, each of which met a conflict; the last one was a row changed by another transaction: \
        another transaction has changed the row since it was read";
    assert_eq!(error.to_string(), said);
    assert!(matches!(error, ConflictError::GaveUp { attempts: 3, conflict: Conflict::Stale, .. }), "{error:?}");
}

/// A commit without a reply may have happened: repeating the work would apply it twice.
// shows: KC1, sql::Keel::retry_on_conflict
#[tokio::test]
async fn error_other_than_a_conflict_is_not_retried() {
    for error in [sqlx::Error::Io(std::io::ErrorKind::ConnectionReset.into()), sqlx::Error::RowNotFound] {
        assert_eq!(error.conflict(), None);
        let mut error = Some(error);
        let (keel, policy) = (Keel::memory(), quick());
        let failed = keel.retry_on_conflict(&policy, || {
            let answer: Result<(), _> = Err(error.take().unwrap());
            async move { answer }
        });
        let failed = failed.await.unwrap_err();
        assert!(matches!(failed, ConflictError::Failed(_)) && !failed.is_retryable(), "{failed:?}");
    }
}

/// Each of two serializable transactions writes what the other has read.
// shows: KC1, hazard A13, sql::Keel::retry_on_conflict
#[tokio::test]
async fn serialization_failure_is_a_conflict() {
    let rig = Rig::<sqlx::Postgres>::open().await;
    let (mut one, mut two) = (rig.pool.acquire().await.unwrap(), rig.pool.acquire().await.unwrap());
    let begin = "BEGIN ISOLATION LEVEL SERIALIZABLE";
    let (mut one, mut two) = (one.begin_with(begin).await.unwrap(), two.begin_with(begin).await.unwrap());
    for work in [&mut one, &mut two] {
        sqlx::query("SELECT units FROM stock").fetch_all(&mut **work).await.unwrap();
    }
    sqlx::query("UPDATE stock SET units = 1 WHERE id = 1").execute(&mut *one).await.unwrap();
    sqlx::query("UPDATE stock SET units = 1 WHERE id = 2").execute(&mut *two).await.unwrap();
    one.commit().await.unwrap();
    let error = two.commit().await.unwrap_err();
    assert_eq!(error.conflict(), Some(Conflict::Serialization), "{error}");
    assert!(SqlError::from(error).is_retryable(), "as `?` hands it on");
}

/// The row has changed since the snapshot of the transaction, which MariaDB reports only with this setting (1020).
// shows: hazard A13
#[tokio::test]
async fn row_changed_since_the_snapshot_is_a_conflict() {
    let rig = Rig::<sqlx::MySql>::open().await;
    let mut connection = rig.pool.acquire().await.unwrap();
    let set = "SET SESSION innodb_snapshot_isolation = ON";
    if let Err(error) = sqlx::query(set).execute(&mut *connection).await {
        // MySQL and older MariaDB have no such setting.
        assert_eq!(error.as_database_error().and_then(|error| error.code()).as_deref(), Some("HY000"), "{error}");
        return;
    }
    let mut transaction = connection.begin().await.unwrap();
    sqlx::query("SELECT units FROM stock").fetch_all(&mut *transaction).await.unwrap();
    sqlx::query("UPDATE stock SET units = 1 WHERE id = 1").execute(&rig.pool).await.unwrap();
    let error = sqlx::query("UPDATE stock SET units = 2 WHERE id = 1").execute(&mut *transaction).await.unwrap_err();
    assert_eq!(error.conflict(), Some(Conflict::Serialization), "{error}");
    assert!(SqlError::from(error).is_retryable(), "as `?` hands it on");
}
