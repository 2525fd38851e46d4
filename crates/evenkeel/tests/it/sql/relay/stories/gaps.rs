//! (R3) A locking read under REPEATABLE READ locks the gaps next to the rows it finds, and producers wait for the relay.

use super::recorder::Recorder;
use super::stage::Stage;
use std::time::Duration;
use testkit::eventually;

/// The claim's own `UPDATE` is blocked inside its transaction, at a trigger that waits for a lock by name.
const TRIGGER: &str = "CREATE TRIGGER stand_still BEFORE UPDATE ON evenkeel_outbox_keys FOR EACH ROW \
                       SET NEW.attempts = NEW.attempts + 0 * IF(NEW.claim IS NULL OR NEW.claim <=> OLD.claim, 0, \
                       GET_LOCK(CONCAT('is here ', DATABASE()), 0) + GET_LOCK(CONCAT('stand still ', DATABASE()), 60))";

// shows: U3, hazard O3
#[tokio::test]
async fn claim_does_not_block_producers() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    for key in ["a", "b"] {
        stage.publish(key, "before").await;
    }
    stage.sql(TRIGGER).await;
    let mut holder = stage.pool.acquire().await.unwrap();
    let held = "SELECT GET_LOCK(CONCAT('stand still ', DATABASE()), 0)";
    assert_eq!(sqlx::query_scalar::<_, i64>(held).fetch_one(&mut *holder).await.unwrap(), 1);
    let relay = stage.relay(&sink);
    let look = tokio::spawn({
        let relay = relay.clone();
        async move { relay.run_once().await }
    });
    let waits = "SELECT IS_USED_LOCK(CONCAT('is here ', DATABASE())) IS NOT NULL";
    let stands = || async { (stage.number(waits).await > 0).then_some(()) };
    eventually("the relay is blocked inside its claim", stands).await.unwrap();
    // A new key is a row next to the claimed ones.
    let producer = tokio::time::timeout(Duration::from_secs(10), stage.publish("c", "next"));
    assert!(producer.await.is_ok(), "the producer waits for the relay");
    let freed = "SELECT RELEASE_LOCK(CONCAT('stand still ', DATABASE()))";
    sqlx::query(freed).execute(&mut *holder).await.unwrap();
    assert_eq!(look.await.unwrap().unwrap().sent, 2);
    // The connection of that claim keeps the lock.
    stage.sql("DROP TRIGGER stand_still").await;
    stage.drain(&relay).await;
    assert_eq!(sink.taken().len(), 3);
}
