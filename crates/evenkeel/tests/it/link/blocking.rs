//! Connections of their own for commands that block.

use super::harness::{cmd, cut, epoch_after, link, link_without_heartbeat, server};
use anyhow::{Context, Result};
use evenkeel::link::{LinkError, Script};
use std::time::Duration;
use testkit::eventually;
use testkit::servers::Redis;

const LONG: Duration = Duration::from_secs(60);

async fn blocked_clients(redis: &Redis, count: u32) -> Result<()> {
    let expected = format!("blocked_clients:{count}\r");
    eventually("clients are blocked as expected", async || {
        let clients: String = redis.command(&["INFO", "clients"]).await.ok()?;
        clients.contains(&expected).then_some(())
    })
    .await
}

#[tokio::test]
async fn blocking_command_does_not_delay_others() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    let mut blocking = link.blocking().await?;
    let waiting = tokio::spawn(async move {
        let popped = blocking.command(&cmd(&["BLPOP", "queue", "60"]), LONG).await;
        (blocking, popped)
    });
    blocked_clients(&redis, 1).await?;
    assert_eq!(link.get(b"k").await?, None);
    link.command(b"queue", &cmd(&["RPUSH", "queue", "job"])).await?;
    let (mut blocking, popped) = waiting.await?;
    let popped: (String, String) = redis::from_redis_value(popped?)?;
    assert_eq!(popped.1, "job");
    assert!(blocking.is_open());
    let nothing = blocking.command(&cmd(&["BLPOP", "queue", "0.01"]), Duration::from_millis(10)).await?;
    assert_eq!(nothing, redis::Value::Nil);
    Ok(())
}

/// A worker that gave up must not keep popping: the server would hand it a job that no worker handles.
// shows: L10, link::Link::blocking, link::Blocking::command, link::Blocking::run, link::Blocking::run_and_wait
#[tokio::test]
async fn dropped_blocking_command_stops_blocking() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    let mut blocking = link.blocking().await?;
    {
        let pop = cmd(&["BLPOP", "queue", "0"]);
        let mut waiting = Box::pin(blocking.command(&pop, LONG));
        tokio::select! {
            popped = &mut waiting => anyhow::bail!("{popped:?}"),
            blocked = blocked_clients(&redis, 1) => blocked?,
        }
    }
    blocked_clients(&redis, 0).await?;
    assert!(!blocking.is_open());
    let error = blocking.command(&cmd(&["BLPOP", "queue", "0"]), LONG).await.unwrap_err();
    assert!(matches!(error, LinkError::EpochOver), "{error}");
    Ok(())
}

// shows: L5, link::Link::blocking, link::Blocking::command, link::Blocking::run, link::Blocking::run_and_wait
#[tokio::test]
async fn blocking_command_ends_with_its_epoch() -> Result<()> {
    let redis = server().await?;
    let link = link_without_heartbeat(&redis).await?;
    let mut blocking = link.blocking().await?;
    let pop = cmd(&["BLPOP", "queue", "0"]);
    let mut waiting = Box::pin(blocking.command(&pop, LONG));
    tokio::select! {
        popped = &mut waiting => anyhow::bail!("{popped:?}"),
        blocked = blocked_clients(&redis, 1) => blocked?,
    }
    // Only the shared connection is closed; the blocking one is notified.
    let clients: String = redis.command(&["CLIENT", "LIST"]).await?;
    let shared = clients.lines().find(|line| line.contains("lib-name=evenkeel") && !line.contains("cmd=blpop"));
    let shared = shared.and_then(|line| line.split_whitespace().find_map(|word| word.strip_prefix("addr=")));
    // Servers report `lib-name` from Redis 7.2 on.
    match shared {
        Some(address) => redis.command::<()>(&["CLIENT", "KILL", address]).await?,
        None => cut(&redis).await?,
    }
    let error = waiting.await.unwrap_err();
    assert!(matches!(error, LinkError::NoAnswer { .. }), "{error}");
    assert!(!blocking.is_open());
    let epoch = epoch_after(&link, 1).await.context("after the cut")?;
    let mut again = link.blocking().await?;
    assert_eq!(again.epoch().number(), epoch.number());
    again.command(&cmd(&["PING"]), Duration::ZERO).await?;
    Ok(())
}

static POP: Script = Script::new("pop-1", "return redis.call('LPOP', KEYS[1])");

// shows: link::Link::blocking, link::Blocking::command, link::Blocking::run, link::Blocking::run_and_wait
#[tokio::test]
async fn script_on_its_own_connection_survives_a_script_flush() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    let mut blocking = link.blocking().await?;
    link.command(b"queue", &cmd(&["RPUSH", "queue", "a", "b"])).await?;
    for expected in ["a", "b"] {
        redis.command::<()>(&["SCRIPT", "FLUSH"]).await?;
        let popped = blocking.run(&POP, &[b"queue"], &[], Duration::ZERO).await?;
        assert_eq!(redis::from_redis_value::<String>(popped)?, expected);
    }
    cut(&redis).await?;
    epoch_after(&link, 1).await?;
    let error = blocking.run(&POP, &[b"queue"], &[], Duration::ZERO).await.unwrap_err();
    assert!(matches!(error, LinkError::EpochOver), "{error}");
    Ok(())
}
