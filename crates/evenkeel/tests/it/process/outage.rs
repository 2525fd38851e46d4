//! Reports to a Redis that does not answer, and of a relay, which needs a database.

use anyhow::Result;
use evenkeel::Keel;
use evenkeel::link::LinkError;
use evenkeel::sql::migrate;
use sqlx::sqlite::SqlitePoolOptions;
use testkit::eventually;
use testkit::servers::{Redis, RedisOptions};

/// A report that times out is no reason to replace the connections of other callers.
// shows: P5
#[tokio::test]
async fn report_to_a_silent_redis_keeps_the_epoch() -> Result<()> {
    let mut redis = Redis::start(RedisOptions::new()).await?;
    let url = format!("{}?response_timeout_ms=60000&heartbeat_ms=600000&silent_timeouts_max=1", redis.url());
    let keel = Keel::connect(&url).await?;
    redis.pause()?;
    for _ in 0..2 {
        let error = keel.report_once().await.unwrap_err();
        assert!(matches!(error, LinkError::NoAnswer { .. }), "{error}");
    }
    redis.resume()?;
    keel.report_once().await?;
    assert_eq!(keel.processes().await?.processes[0].report.as_ref().unwrap().epoch, Some(1));
    Ok(())
}

// shows: P5, process::Keel::processes
#[tokio::test]
async fn report_to_an_absent_redis_delays_nothing() -> Result<()> {
    let mut redis = Redis::start(RedisOptions::new()).await?;
    let keel = Keel::connect(&redis.url()).await?;
    keel.report_once().await?;
    redis.kill()?;
    let mut state = keel.link().unwrap().state();
    state.wait_for(|state| !state.is_up()).await?;
    let error = keel.report_once().await.unwrap_err();
    assert!(error.is_retryable() && !error.outcome_unknown(), "{error}");
    redis.restart().await?;
    state.wait_for(|state| state.is_up()).await?;
    keel.report_once().await?;
    let found = keel.processes().await?;
    assert_eq!(found.processes[0].report.as_ref().unwrap().epoch, Some(2));
    Ok(())
}

// shows: P2
#[tokio::test]
async fn report_shows_a_relay_that_runs() -> Result<()> {
    let db = SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await?;
    migrate(&db).await?;
    let keel = Keel::memory();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let relay = keel.relay(&db);
    let running = tokio::spawn(async move {
        relay
            .run(async {
                let _ = stopped.await;
            })
            .await;
    });
    let relays = async || keel.processes().await.unwrap().processes.remove(0).report.unwrap().relays;
    let relay = eventually("the relay has passed over its outbox", async || {
        relays().await.pop().filter(|relay| relay.passed_ms.is_some())
    });
    let relay = relay.await?;
    assert!(relay.database == "SQLite" && relay.passed_ms <= Some(keel.processes().await?.now_ms), "{relay:?}");
    stop.send(()).unwrap();
    running.await?;
    assert_eq!(relays().await, [], "a relay that has ended is not shown");
    Ok(())
}
