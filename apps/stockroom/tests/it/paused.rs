//! The classical accident: a holder stands still for longer than its lease, and wakes up in the middle of its work.

use super::room::{arrive, is_sound, room};
use evenkeel::Keel;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use stockroom::domain::Strategy;
use stockroom::service::Service;
use stockroom::store::Violation;
use stockroom::strategy::{LockTerms, Stalls};
use testkit::park::{mariadb_database, postgres_database, sqlite_database};
use tokio::sync::Notify;

/// Nobody holds a lock for longer; who waits for it gets it then, while the first one still stands where it was held up.
const TERMS: LockTerms =
    LockTerms { ttl: Duration::from_millis(500), max_hold: Duration::from_millis(500), wait: Duration::from_secs(30) };

/// Holds up the first that comes.
#[derive(Clone, Default)]
struct Gate(Arc<Inner>);

#[derive(Default)]
struct Inner {
    is_used: AtomicBool,
    entered: Notify,
    opened: Notify,
}

impl Gate {
    fn stalls(&self) -> Stalls {
        let gate = self.clone();
        Stalls::new(move |_| {
            let gate = gate.clone();
            async move {
                if !gate.0.is_used.swap(true, Ordering::SeqCst) {
                    gate.0.entered.notify_one();
                    gate.0.opened.notified().await;
                }
            }
        })
    }
}

/// One holder takes 7 in and is held up with its lock; its lease ends; another takes 5 in; the first wakes up.
async fn accident(url: &str, strategy: Strategy) -> Service {
    let keel = Keel::memory();
    let gate = Gate::default();
    let service = room(url, &keel, |tools| {
        tools.terms = TERMS;
        tools.stalls = gate.stalls();
    })
    .await;
    service.add_product("apples").await.unwrap();
    let paused = tokio::spawn({
        let service = service.clone();
        async move { arrive(&service, "apples", 7, strategy).await }
    });
    gate.0.entered.notified().await;
    assert_eq!(arrive(&service, "apples", 5, strategy).await.unwrap().changed.quantity, 5);
    gate.0.opened.notify_one();
    paused.await.unwrap().unwrap();
    service
}

/// Without the fence the paused holder writes what it worked out from the state before the other one.
async fn loses(url: &str) {
    let service = accident(url, Strategy::Unfenced).await;
    let audit = service.audit("apples").await.unwrap();
    assert_eq!(audit.quantity, 7, "5 of 12 are gone");
    assert!(audit.violations.contains(&Violation::Ledger { stock: 7, ledger: 12 }), "{audit:?}");
    assert!(audit.violations.contains(&Violation::Lost { slot: 0, version: 1 }), "{audit:?}");
}

/// With it, the paused holder is refused, takes the lock again, and works it out anew.
async fn keeps(url: &str, strategy: Strategy) {
    let service = accident(url, strategy).await;
    is_sound(&service, "apples", 12).await;
}

#[tokio::test]
async fn a_lock_that_nobody_checks_loses_a_change_on_sqlite() {
    loses(&sqlite_database().unwrap().url).await;
}

#[tokio::test]
async fn a_lock_that_nobody_checks_loses_a_change_on_mariadb() {
    loses(&mariadb_database().await.unwrap().url).await;
}

#[tokio::test]
async fn a_lock_that_nobody_checks_loses_a_change_on_postgres() {
    loses(&postgres_database().await.unwrap().url).await;
}

#[tokio::test]
async fn a_fence_keeps_both_changes_on_sqlite() {
    keeps(&sqlite_database().unwrap().url, Strategy::RedisLock).await;
    keeps(&sqlite_database().unwrap().url, Strategy::Striped).await;
}

#[tokio::test]
async fn a_fence_keeps_both_changes_on_mariadb() {
    keeps(&mariadb_database().await.unwrap().url, Strategy::RedisLock).await;
    keeps(&mariadb_database().await.unwrap().url, Strategy::Striped).await;
}

#[tokio::test]
async fn a_fence_keeps_both_changes_on_postgres() {
    keeps(&postgres_database().await.unwrap().url, Strategy::RedisLock).await;
    keeps(&postgres_database().await.unwrap().url, Strategy::Striped).await;
}
