//! Quotas that change while their buckets are stored.

use super::rig::{Rig, rate, window};
use anyhow::{Result, ensure};

/// A program with a new rate finds the tokens that were taken under the old one.
// shows: M1, hazard LI7
pub async fn changed_rate_keeps_the_debt_in_tokens(rig: &Rig) -> Result<()> {
    let (fast, slow) = (rate(100, 1_000, 10), rate(1, 60_000, 10));
    rig.take(fast, 10).await?;
    assert_eq!(rig.refused(slow, 1).await?, 60_000);
    assert_eq!(rig.refused(fast, 1).await?, 10, "a refusal changes nothing");
    rig.time.advance(5).await?;
    // The refill since counts at the rate of the program that asks.
    assert_eq!(rig.reserve(slow, 3_600_000).await?, 59_995);
    assert_eq!(rig.refused(fast, 10).await?, 110);
    // A smaller burst waits until the debt is below it.
    assert_eq!(rig.refused(rate(1, 60_000, 2), 1).await?, 599_995);
    Ok(())
}

/// The slots of another length are put together.
// shows: M1, hazard LI7
pub async fn changed_window_keeps_its_tokens(rig: &Rig) -> Result<()> {
    let (short, long) = (window(5, 1_000), window(5, 10_000));
    rig.take(short, 5).await?;
    let retry_after_ms = rig.refused(long, 1).await?;
    ensure!((10_000..=12_000).contains(&retry_after_ms), "{retry_after_ms}");
    rig.time.advance(1_300).await?;
    rig.take(short, 5).await?;
    rig.time.advance(12_000).await?;
    rig.take(long, 5).await?;
    let retry_after_ms = rig.refused(short, 1).await?;
    ensure!((1_000..=2_100).contains(&retry_after_ms), "{retry_after_ms}");
    Ok(())
}

/// Each kind of quota has its own bucket, so that neither reads the other's as full.
pub async fn rate_and_window_of_a_level_are_independent(rig: &Rig) -> Result<()> {
    let (rate, window) = (rate(1, 60_000, 1), window(1, 60_000));
    rig.take(rate, 1).await?;
    rig.take(window, 1).await?;
    rig.refused(rate, 1).await?;
    rig.refused(window, 1).await?;
    Ok(())
}
