//! Several connections: each is notified of what was read on it, in order with its own replies only.

use super::super::db::Db;
use super::super::rig::{Rows, in_time, some};
use super::stand::Stand;
use evenkeel::Keel;
use evenkeel::cache::{Freshness, Tier};
use evenkeel::testing::{Side, Step, StepGate};
use redis::Value;
use std::time::Duration;
use testkit::proxy::Direction;

/// Two keys that belong to different connections.
async fn apart(keel: &Keel) -> [u64; 2] {
    let first = connection(keel, 1).await;
    for key in 2..200 {
        if connection(keel, key).await != first {
            return [1, key];
        }
    }
    panic!("200 keys on one connection of two");
}

/// The connection that a key belongs to, by its number at Redis.
async fn connection(keel: &Keel, key: u64) -> i64 {
    let entry = format!("evenkeel:c:row:{{{key}}}");
    let answer = keel.link().unwrap().command(entry.as_bytes(), redis::cmd("CLIENT").arg("ID")).await.unwrap();
    let Value::Int(number) = answer else { panic!("{answer:?}") };
    number
}

async fn read(rows: &Rows, db: &Db, key: u64) -> (Option<String>, Tier) {
    let found = rows.get_with(&key, Freshness::Eventual, |key| db.find(*key)).await.unwrap();
    (found.value.map(|row| String::clone(&row)), found.tier)
}

/// A batch is read on the connection of its first key, so that connection is notified of the change of the second key. Its
/// invalidation is sent and answered on the other connection, while the first one is blocked. Near values that the batch
/// stored after the invalidation had begun are gone when its caller continues.
// shows: hazard R4
#[tokio::test]
async fn own_write_drops_near_value_without_notification() {
    in_time(async {
        let (gate, an_hour) = (StepGate::default(), Duration::from_secs(3_600));
        let stand = Stand::start("connections=2&response_timeout_ms=60000&heartbeat_ms=600000").await;
        let rows = stand.rows(|builder| builder.silence_max(an_hour).gate(&gate)).await;
        let db = Db::new();
        let [one, other] = apart(&stand.keel).await;
        db.write(other, "a");
        read(&rows, &db, other).await;

        let mut sent = gate.hold(Step::Invalidate, Side::BeforeSend);
        let invalidation = tokio::spawn({
            let rows = rows.clone();
            async move { rows.invalidate(&other).await }
        });
        sent.reached().await;
        rows.get_many(&[one, other], |keys| db.find_many(keys)).await.unwrap();
        assert_eq!(read(&rows, &db, other).await, (some("a"), Tier::Near));
        let mut held = stand.proxy.hold(Direction::ToClient, "ECHO");
        let (keel, route) = (stand.keel.clone(), format!("evenkeel:c:row:{{{one}}}"));
        let echo = tokio::spawn(async move {
            keel.link().unwrap().command(route.as_bytes(), redis::cmd("ECHO").arg("x")).await.unwrap();
        });
        held.reached().await.unwrap();
        db.write(other, "b");
        sent.release();
        invalidation.await.unwrap().unwrap();
        assert_eq!(read(&rows, &db, other).await.0, some("b"));
        held.release();
        echo.await.unwrap();
    })
    .await;
}

/// A key that one connection read, and another one's script changed, is notified on the first.
#[tokio::test]
async fn change_is_notified_on_the_connection_that_read() {
    in_time(async {
        let stand = Stand::start("connections=2").await;
        let (rows, db) = (stand.rows(|builder| builder).await, Db::new());
        let [one, other] = apart(&stand.keel).await;
        db.write(other, "a");
        for _ in 0..2 {
            rows.get_many(&[one, other], |keys| db.find_many(keys)).await.unwrap();
        }
        assert_eq!(read(&rows, &db, other).await, (some("a"), Tier::Near));
        db.write(other, "b");
        stand.elsewhere.invalidate(&other).await.unwrap();
        connection(&stand.keel, one).await;
        assert_eq!(read(&rows, &db, other).await.0, some("b"));
    })
    .await;
}

/// In broadcast mode no read is needed: every change under the prefix is notified on every connection.
#[tokio::test]
async fn broadcast_mode_drops_the_near_value() {
    in_time(async {
        let stand = Stand::start("connections=2&tracking=broadcast").await;
        let (rows, db) = (stand.rows(|builder| builder).await, Db::new());
        db.write(1, "a");
        let mut seen = read(&rows, &db, 1).await;
        // The change by the load itself is notified a little later here, and may end the first insert.
        for _ in 0..10 {
            seen = read(&rows, &db, 1).await;
        }
        assert_eq!(seen, (some("a"), Tier::Near));
        db.write(1, "b");
        stand.elsewhere.invalidate(&1).await.unwrap();
        connection(&stand.keel, 1).await;
        assert_eq!(read(&rows, &db, 1).await.0, some("b"));
    })
    .await;
}
