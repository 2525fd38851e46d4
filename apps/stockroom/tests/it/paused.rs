//! A lock holder is paused for longer than its lease and resumes in the middle of its change.

use super::support::in_process::{assert_sound, open, receive};
use evenkeel::Keel;
use evenkeel::lock::LockTerms;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use stockroom::domain::Strategy;
use stockroom::service::Service;
use stockroom::store::Violation;
use stockroom::strategy::Pauses;
use testkit::park::{mariadb_database, postgres_database, sqlite_database};
use tokio::sync::Notify;

/// The maximum hold time makes the paused holder lose its lock: within one process, renewals would continue during the pause.
fn lock_terms() -> LockTerms {
    let lease = Duration::from_millis(500);
    LockTerms::default().ttl(lease).max_hold(lease).wait(Duration::from_secs(30))
}

/// Pauses the first change.
#[derive(Clone, Default)]
struct Gate(Arc<Inner>);

#[derive(Default)]
struct Inner {
    is_used: AtomicBool,
    entered: Notify,
    opened: Notify,
}

impl Gate {
    fn pauses(&self) -> Pauses {
        let gate = self.clone();
        Pauses::new(move |_| {
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

/// One holder receives 7 and is paused; its lease expires; another receives 5; the first resumes.
async fn pause_a_holder(url: &str, strategy: Strategy) -> Service {
    let keel = Keel::memory();
    let gate = Gate::default();
    let service = open(url, &keel, |context| {
        context.lock_terms = lock_terms();
        context.pauses = gate.pauses();
    })
    .await;
    service.add_product("apples").await.unwrap();
    let paused = tokio::spawn({
        let service = service.clone();
        async move { receive(&service, "apples", 7, strategy).await }
    });
    gate.0.entered.notified().await;
    assert_eq!(receive(&service, "apples", 5, strategy).await.unwrap().applied.quantity, 5);
    gate.0.opened.notify_one();
    paused.await.unwrap().unwrap();
    service
}

/// Without a fencing token, the paused holder overwrites the other change.
async fn loses(url: &str) {
    let service = pause_a_holder(url, Strategy::Unfenced).await;
    let audit = service.audit("apples").await.unwrap();
    assert_eq!(audit.quantity, 7, "5 of 12 are lost");
    assert!(audit.violations.contains(&Violation::Ledger { stock: 7, ledger: 12 }), "{audit:?}");
    assert!(audit.violations.contains(&Violation::Lost { slot: 0, version: 1 }), "{audit:?}");
}

/// With a fencing token, the paused holder is rejected and retries.
async fn keeps(url: &str, strategy: Strategy) {
    let service = pause_a_holder(url, strategy).await;
    assert_sound(&service, "apples", 12).await;
}

#[tokio::test]
async fn unfenced_lock_loses_a_change_on_sqlite() {
    loses(&sqlite_database().unwrap().url).await;
}

#[tokio::test]
async fn unfenced_lock_loses_a_change_on_mariadb() {
    loses(&mariadb_database().await.unwrap().url).await;
}

#[tokio::test]
async fn unfenced_lock_loses_a_change_on_postgres() {
    loses(&postgres_database().await.unwrap().url).await;
}

#[tokio::test]
async fn fencing_token_prevents_a_lost_update_on_sqlite() {
    keeps(&sqlite_database().unwrap().url, Strategy::RedisLock).await;
    keeps(&sqlite_database().unwrap().url, Strategy::Striped).await;
}

#[tokio::test]
async fn fencing_token_prevents_a_lost_update_on_mariadb() {
    keeps(&mariadb_database().await.unwrap().url, Strategy::RedisLock).await;
    keeps(&mariadb_database().await.unwrap().url, Strategy::Striped).await;
}

#[tokio::test]
async fn fencing_token_prevents_a_lost_update_on_postgres() {
    keeps(&postgres_database().await.unwrap().url, Strategy::RedisLock).await;
    keeps(&postgres_database().await.unwrap().url, Strategy::Striped).await;
}
