//! A commit without a reply: its connection is cut right after its last byte, or right before.

use crate::sql::rig::{Rig, Sql, in_time, pool};
use evenkeel::sql::{Committed, Message, SqlError, WakeUp};
use sqlx::Pool;
use testkit::proxy::{Direction, Proxy};

macro_rules! on_servers {
    ($($story:ident)+) => {
        mod mariadb {
            $(#[tokio::test]
            async fn $story() {
                super::in_time(super::$story(crate::sql::rig::Rig::<sqlx::MySql>::open().await)).await;
            })+
        }

        mod postgres {
            $(#[tokio::test]
            async fn $story() {
                super::in_time(super::$story(crate::sql::rig::Rig::<sqlx::Postgres>::open().await)).await;
            })+
        }
    };
}

on_servers! {
    commit_without_a_reply_is_found_committed
    commit_that_did_not_arrive_is_a_rollback
}

/// A connection through a proxy, and how many bytes a commit on it sends.
struct Way<'a, DB: Sql> {
    rig: &'a Rig<DB>,
    proxy: Proxy,
    pool: Pool<DB>,
    commit_bytes: u64,
}

impl<'a, DB: Sql> Way<'a, DB> {
    /// Measures a commit on a connection that has its statements prepared already.
    async fn measured(rig: &'a Rig<DB>) -> Self {
        let port = url::Url::parse(&rig.database.url).unwrap().port().unwrap();
        let proxy = Proxy::start(port, 1).await.unwrap();
        let pool = pool::<DB>(&proxy.url(&rig.database.url), 1).await;
        // Only units of work send anything.
        rig.keel.wake_relays(WakeUp::Never);
        let mut way = Self { rig, proxy, pool, commit_bytes: 0 };
        for _ in 0..3 {
            let (answer, sent) = way.work(|_| ()).await;
            answer.unwrap();
            let release = way.sent().await;
            // What the pool sends when a connection comes back to it (this one, after the answer) belongs to no commit.
            way.commit_bytes = sent - (way.sent().await - release);
        }
        way
    }

    /// One work that sells a unit, with a hand on the proxy right before its commit.
    async fn work(&self, before_commit: impl FnOnce(&Proxy)) -> (Result<Committed, SqlError>, u64) {
        let mut work = self.rig.keel.begin(&self.pool).await.unwrap();
        DB::run(work.tx(), "UPDATE stock SET units = units - 1 WHERE id = 1").await.unwrap();
        // There is no sink to take it, so nothing is marked as done, and no other byte is in flight.
        work.publish(Message::new("sales", "one")).unwrap();
        let before = self.proxy.counters().bytes_to_server;
        before_commit(&self.proxy);
        let answer = work.commit().await;
        (answer, self.sent().await - before)
    }

    /// Bytes that were sent until the pool has its only connection back.
    async fn sent(&self) -> u64 {
        let _idle = self.pool.acquire().await.unwrap();
        self.proxy.counters().bytes_to_server
    }
}

// shows: U1, hazard O8, sql::Work::commit
async fn commit_without_a_reply_is_found_committed<DB: Sql>(rig: Rig<DB>) {
    let way = Way::measured(&rig).await;
    let (units, bytes) = (rig.units().await, way.commit_bytes);
    let (answer, _) = way.work(|proxy| proxy.cut_after_bytes(Direction::ToServer, bytes)).await;
    assert_eq!(way.proxy.counters().cut, 1, "the connection was cut");
    answer.expect("it was committed, and the row says so");
    assert_eq!(rig.units().await, units - 1);
    assert_eq!((rig.outbox_rows(1).await, rig.outbox_rows(3).await), (4, 0));
}

// shows: U1, hazard O8, sql::Work::commit
async fn commit_that_did_not_arrive_is_a_rollback<DB: Sql>(rig: Rig<DB>) {
    let way = Way::measured(&rig).await;
    let (units, bytes) = (rig.units().await, way.commit_bytes);
    let (answer, _) = way.work(|proxy| proxy.cut_after_bytes(Direction::ToServer, bytes - 1)).await;
    assert_eq!(way.proxy.counters().cut, 1, "the connection was cut");
    let error = answer.unwrap_err();
    assert!(error.is_retryable() && !error.outcome_unknown(), "{error}");
    assert_eq!(rig.units().await, units);
    assert_eq!(
        (rig.outbox_rows(1).await, rig.outbox_rows(3).await),
        (3, 1),
        "a tombstone keeps it from ever happening"
    );
}
