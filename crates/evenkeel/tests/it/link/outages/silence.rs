//! A server that says nothing: it may be dead, stopped, or only slow.

use crate::link::harness::{begin, down, epoch_after, link, quick_link, server};
use anyhow::Result;
use evenkeel::link::LinkError;

/// The published client kept its one connection to a silent peer through any number of timeouts.
// shows: L1
#[tokio::test]
async fn link_reconnects_after_a_silent_server_wakes() -> Result<()> {
    let mut redis = server().await?;
    let link = quick_link(&redis).await?;
    redis.pause()?;
    let error = link.get(b"k").await.unwrap_err();
    assert!(matches!(error, LinkError::NoAnswer { .. }) && error.outcome_unknown(), "{error}");
    down(&link, "silent").await?;
    down(&link, "no answer within").await?;
    assert!(matches!(link.get(b"k").await, Err(LinkError::Down { .. })));
    redis.resume()?;
    epoch_after(&link, 1).await?;
    assert_eq!(link.get(b"k").await?, None);
    Ok(())
}

/// There is no traffic, so only the heartbeat can notice.
// shows: L1
#[tokio::test]
async fn silence_is_noticed_without_traffic() -> Result<()> {
    let mut redis = server().await?;
    let link = quick_link(&redis).await?;
    redis.pause()?;
    down(&link, "silent").await?;
    redis.resume()?;
    epoch_after(&link, 1).await?;
    Ok(())
}

/// One slow command ahead of all others makes many of them time out at once. Replacing the connections then would fail all
/// waiting callers without any benefit: the server is alive, as the probe shows.
#[tokio::test]
async fn slow_server_keeps_its_epoch() -> Result<()> {
    let mut redis = server().await?;
    let url = format!("{}?response_timeout_ms=2000&heartbeat_ms=600000&silent_timeouts_max=3", redis.url());
    let link = link(&url).await?;
    redis.pause()?;
    let mut waiting: Vec<_> = (0..5).map(|_| Box::pin(link.get(b"k"))).collect();
    for call in &mut waiting {
        assert!(!begin(call.as_mut()));
    }
    for call in waiting {
        assert!(matches!(call.await, Err(LinkError::NoAnswer { .. })));
    }
    redis.resume()?;
    assert_eq!(link.get(b"k").await?, None);
    let epoch = link.epoch().map(|epoch| epoch.number());
    assert_eq!(epoch, Some(1));
    Ok(())
}
