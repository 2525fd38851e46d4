//! Locks in databases whose connections are few.

use super::rig::{Rig, Sql, in_time, pool};
use evenkeel::lock::{AdvisoryDatabase, LockTerms, Wait};
use sqlx::{MySql, Postgres};
use std::time::Duration;
use testkit::eventually;

macro_rules! on_servers {
    ($($story:ident)+) => {
        mod mariadb {
            $(#[tokio::test]
            async fn $story() {
                super::in_time(Box::pin(super::$story(crate::sql::rig::Rig::<super::MySql>::open().await))).await;
            })+
        }

        mod postgres {
            $(#[tokio::test]
            async fn $story() {
                super::in_time(Box::pin(super::$story(crate::sql::rig::Rig::<super::Postgres>::open().await))).await;
            })+
        }
    };
}

on_servers! {
    advisory_locks_above_their_limit_wait_in_the_process
    row_lock_is_renewed_while_its_transaction_has_the_pool
}

/// 130 advisory locks had 130 connections, all that the server has.
// shows: KA1, hazard B6, lock::AdvisoryLocks, lock::AdvisoryLocks::try_acquire
async fn advisory_locks_above_their_limit_wait_in_the_process<DB: Sql + AdvisoryDatabase>(rig: Rig<DB>) {
    let two = pool::<DB>(&rig.database.url, 2).await;
    let locks = rig.keel.advisory_locks(&two);
    let terms = LockTerms::default().wait(Wait::Forever);
    let first = locks.acquire("a", &terms).await.unwrap();
    let second = locks.acquire("b", &terms).await.unwrap();
    let error = locks.try_acquire("c", &terms).await.unwrap_err();
    assert!(error.is_retryable() && !error.outcome_unknown(), "{error}");
    assert!(error.to_string().contains("max_connections"), "{error}");
    let (waiting, own) = (locks.clone(), terms.clone());
    let waiting = tokio::spawn(async move { waiting.acquire("c", &own).await });
    assert!(locks.try_acquire("d", &terms).await.is_err(), "there is still no connection");
    first.release().await.unwrap();
    let third = waiting.await.unwrap().unwrap();
    assert_eq!(third.name(), "c");
    third.release().await.unwrap();
    second.release().await.unwrap();
}

/// The transaction under a guard had the only connection of the pool, the renewals waited for it, and the lock was lost after its ttl.
// shows: KR1, hazard B5, lock::RowLocks
async fn row_lock_is_renewed_while_its_transaction_has_the_pool<DB: Sql>(rig: Rig<DB>) {
    let one = pool::<DB>(&rig.database.url, 1).await;
    let guard = rig.keel.row_locks(&one).lock("a").ttl(Duration::from_millis(1_500)).acquire().await.unwrap();
    let transaction = guard.begin(&one).await.unwrap();
    let ends = async || rig.number("SELECT ends_at FROM evenkeel_locks WHERE name = 'a'").await;
    let before = ends().await;
    let renewed = eventually("the lock is renewed", async || {
        assert!(!guard.is_lost(), "it was not renewed");
        (ends().await > before).then_some(())
    });
    renewed.await.unwrap();
    transaction.commit().await.unwrap();
    guard.release().await.unwrap();
}
