//! Documented guarantees that no other test covers.

use crate::sql::rig::{Rig, Sql, in_time, pool};
use testkit::eventually;
use testkit::proxy::{Direction, Proxy};

// shows: hazard G1, sql::LockingTransaction::commit
#[tokio::test]
async fn unanswered_locking_commit_is_not_retryable_on_mariadb() {
    Box::pin(in_time(unanswered_locking_commit_is_not_retryable(Rig::<sqlx::MySql>::open().await))).await;
}

// shows: hazard G1, sql::LockingTransaction::commit
#[tokio::test]
async fn unanswered_locking_commit_is_not_retryable_on_postgres() {
    Box::pin(in_time(unanswered_locking_commit_is_not_retryable(Rig::<sqlx::Postgres>::open().await))).await;
}

/// The commit has happened and its reply is lost. A caller that gets a retryable error does the work twice.
async fn unanswered_locking_commit_is_not_retryable<DB: Sql>(rig: Rig<DB>) {
    let port = url::Url::parse(&rig.database.url).unwrap().port().unwrap();
    let proxy = Proxy::start(port, 1).await.unwrap();
    let pool = pool::<DB>(&proxy.url(&rig.database.url), 1).await;
    let sell = async || {
        let mut locking = rig.keel.begin_locking(&pool, None).await.unwrap();
        DB::run(locking.tx().unwrap(), "UPDATE stock SET units = units - 1 WHERE id = 1").await.unwrap();
        locking
    };
    // What was sent until the pool has its only connection back.
    let sent = async || {
        let _idle = pool.acquire().await.unwrap();
        proxy.counters().bytes_to_server
    };
    let mut commit_bytes = 0;
    // The first commit prepares its statements.
    for _ in 0..2 {
        let locking = sell().await;
        let before = proxy.counters().bytes_to_server;
        locking.commit().await.unwrap();
        let after = sent().await;
        // The pool sends something when a connection returns.
        commit_bytes = after - before - (sent().await - after);
    }
    let locking = sell().await;
    proxy.cut_after_bytes(Direction::ToServer, commit_bytes);
    let error = locking.commit().await.unwrap_err();
    assert_eq!(proxy.counters().cut, 1, "the connection was cut");
    assert!(error.outcome_unknown() && !error.is_retryable(), "{error}");
    // The server may still have to read what was sent before the connection ended.
    eventually("it was committed", async || (rig.units().await == 7).then_some(())).await.unwrap();
}
