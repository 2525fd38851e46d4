//! A store whose clock is set back, and times that end.

use super::rig::{Rig, rate, window};
use anyhow::{Result, ensure};

const HOUR_MS: u64 = 3_600_000;

/// Before, a bucket that was written in the future refused until the clock had reached that time.
// shows: M1, hazard LI4
pub async fn clock_set_back_keeps_the_debt_of_a_rate(rig: &Rig) -> Result<()> {
    let quota = rate(10, 1_000, 10);
    rig.take(quota, 8).await?;
    rig.time.set_back(HOUR_MS).await?;
    assert_eq!(rig.take(quota, 1).await?, 1);
    assert_eq!(rig.refused(quota, 2).await?, 100);
    Ok(())
}

/// A bucket that is refused all the time is not written by admissions: without the refusal's own write it would be from the future again at the next call.
// shows: M1, hazard LI5
pub async fn refusal_stores_a_clock_that_was_set_back(rig: &Rig) -> Result<()> {
    let rate = rate(10, 1_000, 10);
    rig.take(rate, 10).await?;
    rig.time.set_back(HOUR_MS).await?;
    assert_eq!(rig.refused(rate, 1).await?, 100);
    rig.time.advance(100).await?;
    assert_eq!(rig.take(rate, 1).await?, 0);
    let window = window(10, 1_000);
    rig.take(window, 10).await?;
    rig.time.set_back(HOUR_MS).await?;
    let retry_after_ms = rig.refused(window, 1).await?;
    rig.time.advance(retry_after_ms).await?;
    assert_eq!(rig.take(window, 10).await?, 0);
    Ok(())
}

/// The tokens of a window, and reservations in it, are as far from now as they were.
// shows: M1, hazard LI4
pub async fn clock_set_back_moves_a_window_back(rig: &Rig) -> Result<()> {
    let quota = window(2, 1_000);
    rig.time.advance(100 - rig.time.now() % 100).await?;
    rig.take(quota, 2).await?;
    assert_eq!(rig.reserve(quota, 2_000).await?, 1_100);
    rig.time.set_back(HOUR_MS).await?;
    assert_eq!(rig.refused(quota, 2).await?, 2_200);
    rig.time.advance(1_100).await?;
    assert_eq!(rig.take(quota, 1).await?, 0);
    Ok(())
}

/// An instance that has ended has no share.
// shows: M3, hazard LI11
pub async fn instances_are_counted_for_a_minute(rig: &Rig) -> Result<()> {
    assert_eq!(rig.attend(1).await?, 1);
    assert_eq!(rig.attend(2).await?, 2);
    assert_eq!(rig.attend(1).await?, 2, "a repeat");
    rig.time.advance(60_000).await?;
    assert_eq!(rig.attend(1).await?, 2);
    rig.time.advance(1).await?;
    assert_eq!(rig.attend(1).await?, 1);
    Ok(())
}

/// Times that the clock has not reached would be counted for as long as it was set back.
// shows: M3, hazard LI11
pub async fn instances_from_the_future_are_forgotten(rig: &Rig) -> Result<()> {
    rig.attend(1).await?;
    rig.attend(2).await?;
    rig.time.set_back(HOUR_MS).await?;
    let counted = rig.attend(3).await?;
    ensure!(counted == 1, "{counted} instances");
    assert_eq!(rig.attend(1).await?, 2);
    Ok(())
}
