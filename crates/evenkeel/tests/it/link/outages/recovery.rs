//! What happens when Redis goes away, and that the link recovers by itself when Redis is back.

use crate::link::harness::{begin, cmd, cut, down, epoch_after, link, link_without_heartbeat, quick_link, server};
use anyhow::Result;
use evenkeel::link::{EndReason, LinkError};
use std::pin::pin;
use testkit::servers::{Redis, RedisOptions};

// shows: L1, L2, keel::Keel::connect, keel::KeelBuilder::connect, keel::KeelBuilder::connect_with, link::Link::connect
#[tokio::test]
async fn link_reconnects_to_a_restarted_server() -> Result<()> {
    let mut redis = server().await?;
    let link = quick_link(&redis).await?;
    let first = epoch_after(&link, 0).await?;
    redis.kill()?;
    down(&link, "refused").await?;
    let error = link.get(b"k").await.unwrap_err();
    assert!(matches!(error, LinkError::Down { .. }) && error.is_retryable() && !error.outcome_unknown(), "{error}");
    redis.restart().await?;
    let second = epoch_after(&link, 1).await?;
    assert_eq!(second.number(), 2, "attempts that failed are no epochs");
    assert_ne!(first.run_id(), second.run_id());
    assert_eq!(link.get(b"k").await?, None);
    Ok(())
}

/// What an epoch was asked to do must not happen on the next one: in between the data may have been lost.
// shows: L3, L5, hazard H3, link::Link::command, link::Link::get, link::Link::pipeline, link::Link::run
// shows: link::Epoch::command, link::Epoch::pipeline, link::Epoch::run
#[tokio::test]
async fn ended_epoch_sends_nothing() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    let first = epoch_after(&link, 0).await?;
    cut(&redis).await?;
    assert_eq!(first.over().await, EndReason::Closed);
    epoch_after(&link, 1).await?;
    let error = first.command(b"k", &cmd(&["SET", "k", "v"])).await.unwrap_err();
    assert!(matches!(error, LinkError::EpochOver) && !error.outcome_unknown(), "{error}");
    assert_eq!(link.get(b"k").await?, None);
    Ok(())
}

// shows: L3, link::Link::command, link::Link::get, link::Link::pipeline, link::Link::run, link::Epoch::command
// shows: link::Epoch::pipeline, link::Epoch::run
#[tokio::test]
async fn command_in_flight_has_unknown_outcome() -> Result<()> {
    let mut redis = server().await?;
    let link = link_without_heartbeat(&redis).await?;
    redis.pause()?;
    let write = cmd(&["SET", "k", "v"]);
    let mut writing = pin!(link.command(b"k", &write));
    assert!(!begin(writing.as_mut()));
    redis.kill()?;
    let error = writing.await.unwrap_err();
    assert!(error.outcome_unknown() && error.is_retryable(), "{error}");
    Ok(())
}

#[tokio::test]
async fn one_closed_connection_replaces_all() -> Result<()> {
    let redis = server().await?;
    let link = link(&format!("{}?connections=3", redis.url())).await?;
    let ids: String = redis.command(&["CLIENT", "LIST", "TYPE", "normal"]).await?;
    let id = ids.lines().find(|line| !line.contains("cmd=client|list")).and_then(|line| line.split_whitespace().next());
    let id = id.and_then(|id| id.strip_prefix("id=")).unwrap().to_owned();
    redis.command::<i64>(&["CLIENT", "KILL", "ID", &id]).await?;
    epoch_after(&link, 1).await?;
    for key in ["a", "b", "c", "d", "e"] {
        assert_eq!(link.get(key.as_bytes()).await?, None);
    }
    Ok(())
}

/// A server that takes seconds to load what [`fill`] puts in, and answers meanwhile.
async fn slow_to_load() -> Result<Redis> {
    let slow =
        ["--key-load-delay", "2000", "--loading-process-events-interval-bytes", "1024", "--rdbcompression", "no"];
    Redis::start(RedisOptions::new().arguments(slow).arguments(["--enable-debug-command", "yes"])).await
}

async fn fill(redis: &Redis) -> Result<()> {
    let fill = "for i = 1, 2000 do redis.call('SET', 'filler' .. i, string.rep('x', 100)) end";
    redis.command(&["EVAL", fill, "0"]).await
}

/// A server that reads its file says `LOADING` to everything; an epoch opened then would hand that to every caller.
// shows: L1
#[tokio::test]
async fn link_waits_while_the_server_loads_its_data() -> Result<()> {
    let mut redis = slow_to_load().await?;
    let link = quick_link(&redis).await?;
    link.command(b"k", &cmd(&["SET", "k", "v"])).await?;
    fill(&redis).await?;
    redis.command::<()>(&["SAVE"]).await?;
    let (restarted, waited) = tokio::join!(redis.restart(), down(&link, "loading"));
    restarted?;
    waited?;
    epoch_after(&link, 1).await?;
    assert_eq!(link.get(b"k").await?.as_deref(), Some(&b"v"[..]));
    Ok(())
}

/// The same on an open connection, as on a server that replicates another one's data: the epoch ends if it lasts.
// shows: L1
#[tokio::test]
async fn epoch_ends_if_its_server_keeps_loading() -> Result<()> {
    let redis = slow_to_load().await?;
    let link = quick_link(&redis).await?;
    fill(&redis).await?;
    let first = epoch_after(&link, 0).await?;
    let (loaded, reason) = tokio::join!(redis.command::<()>(&["DEBUG", "RELOAD"]), first.over());
    assert_eq!(reason, EndReason::Loading);
    loaded?;
    epoch_after(&link, 1).await?;
    assert!(link.get(b"filler1").await?.is_some());
    Ok(())
}
