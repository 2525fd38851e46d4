//! A server that is not, or no longer, the primary; and another one behind the same address.

use crate::link::harness::{cmd, down, epoch_after, link_without_heartbeat, quick_link, refusal, server};
use anyhow::Result;
use evenkeel::link::LinkError;
use testkit::eventually;
use testkit::servers::Redis;

async fn follow(redis: &Redis, primary: &Redis) -> Result<()> {
    redis.command(&["REPLICAOF", "127.0.0.1", &primary.port().to_string()]).await
}

async fn lead(redis: &Redis) -> Result<()> {
    redis.command(&["REPLICAOF", "NO", "ONE"]).await
}

/// After a failover the published client kept writing to the demoted primary and got `READONLY` forever.
// shows: L1
#[tokio::test]
async fn rejected_write_ends_the_epoch_of_a_demoted_primary() -> Result<()> {
    let (redis, other) = (server().await?, server().await?);
    let link = link_without_heartbeat(&redis).await?;
    follow(&redis, &other).await?;
    let error = link.command(b"k", &cmd(&["SET", "k", "v"])).await.unwrap_err();
    assert!(matches!(&error, LinkError::Refused { code, .. } if code == "READONLY") && error.is_retryable(), "{error}");
    down(&link, "it is a replica of 127.0.0.1").await?;
    assert!(matches!(link.get(b"k").await, Err(LinkError::Down { .. })));
    lead(&redis).await?;
    epoch_after(&link, 1).await?;
    link.command(b"k", &cmd(&["SET", "k", "v"])).await?;
    Ok(())
}

// shows: L1
#[tokio::test]
async fn demotion_is_noticed_without_writes() -> Result<()> {
    let (redis, other) = (server().await?, server().await?);
    let link = quick_link(&redis).await?;
    follow(&redis, &other).await?;
    down(&link, "it is a replica of 127.0.0.1").await?;
    lead(&redis).await?;
    epoch_after(&link, 1).await?;
    Ok(())
}

// shows: L4
#[tokio::test]
async fn replica_is_rejected_at_connect() -> Result<()> {
    let (redis, other) = (server().await?, server().await?);
    follow(&redis, &other).await?;
    let error = refusal(&redis.url()).await;
    assert!(
        matches!(&error, LinkError::Down { reason, .. } if reason.contains("it is a replica of 127.0.0.1")),
        "{error}"
    );
    Ok(())
}

/// Demoted and promoted again between two heartbeats: no call failed, no connection was closed, and yet the data may be
/// another primary's. Components that retain what they wrote must be notified.
// shows: L1, hazard D11, hazard BL6
#[tokio::test]
async fn changed_replication_id_starts_a_new_epoch() -> Result<()> {
    let (redis, other) = (server().await?, server().await?);
    let link = quick_link(&redis).await?;
    let first = epoch_after(&link, 0).await?;
    follow(&redis, &other).await?;
    lead(&redis).await?;
    let second = epoch_after(&link, 1).await?;
    assert_eq!(first.run_id(), second.run_id());
    assert_ne!(first.replication_id(), second.replication_id());
    Ok(())
}

/// A primary draws a new replication id when its first replica is attached: all connections of a fleet ended at once, and every near
/// cache was emptied.
// shows: hazard BL6
#[tokio::test]
async fn attached_replica_keeps_the_epoch() -> Result<()> {
    let (redis, replica) = (server().await?, server().await?);
    let link = quick_link(&redis).await?;
    let epoch = epoch_after(&link, 0).await?;
    follow(&replica, &redis).await?;
    let info = async |section: &str| redis.command::<String>(&["INFO", section]).await;
    eventually("the primary has another replication id", async || {
        let replication = info("replication").await.ok()?;
        let id = replication.lines().find_map(|line| line.strip_prefix("master_replid:"))?.trim().to_owned();
        (id != epoch.replication_id()).then_some(())
    })
    .await?;
    // The heartbeat of each connection asks for the time; two have seen the new id.
    let beats = async || {
        let stats = info("commandstats").await.ok()?;
        let calls = stats.lines().find_map(|line| line.strip_prefix("cmdstat_time:calls="))?;
        calls.split(',').next()?.parse::<u64>().ok()
    };
    let before = eventually("the calls are counted", async || beats().await).await?;
    eventually("two heartbeats", async || beats().await.filter(|now| *now >= before + 3)).await?;
    assert!(!epoch.is_over() && link.epoch().is_some_and(|now| now.number() == epoch.number()));
    Ok(())
}
