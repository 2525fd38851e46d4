//! What happens when Redis goes away, and that nobody has to help when it comes back.

use super::harness::{cmd, down, epoch_after, quick_link, server};
use anyhow::Result;
use evenkeel::link::LinkError;

#[tokio::test]
async fn a_restarted_server_is_found_again() -> Result<()> {
    let mut redis = server().await?;
    let link = quick_link(&redis).await?;
    let first = epoch_after(&link, 0).await?;
    redis.kill()?;
    down(&link).await?;
    let error = link.get(b"k").await.unwrap_err();
    assert!(matches!(error, LinkError::Down { .. }) && error.is_retryable() && !error.outcome_unknown(), "{error}");
    redis.restart().await?;
    let second = epoch_after(&link, 1).await?;
    assert_ne!(first.run_id(), second.run_id());
    assert_eq!(link.get(b"k").await?, None);
    assert!(matches!(first.command(b"k", &cmd(&["GET", "k"])).await, Err(LinkError::EpochOver)));
    Ok(())
}

#[tokio::test]
async fn a_silent_server_is_replaced_and_found_again_when_it_wakes() -> Result<()> {
    let mut redis = server().await?;
    let link = quick_link(&redis).await?;
    redis.pause()?;
    let error = link.get(b"k").await.unwrap_err();
    assert!(matches!(error, LinkError::NoAnswer { .. }) && error.outcome_unknown(), "{error}");
    assert!(down(&link).await?.contains("silent"));
    redis.resume()?;
    epoch_after(&link, 1).await?;
    assert_eq!(link.get(b"k").await?, None);
    Ok(())
}
