//! Reservations.

use super::rig::{Rig, rate, window};
use anyhow::{Result, bail};
use evenkeel_protocol::limit::steps::Debited;

/// Each place is a token's time after the one before; a call that does not wait gets none in front of them.
// shows: M4, hazard LI10, limit::Limit::acquire, limit::Limit::acquire_n
pub async fn reservations_are_served_in_their_order(rig: &Rig) -> Result<()> {
    let quota = rate(1, 1_000, 1);
    for wait_ms in [0, 1_000, 2_000, 3_000] {
        assert_eq!(rig.reserve(quota, 10_000).await?, wait_ms);
    }
    assert_eq!(rig.refused(quota, 1).await?, 4_000);
    rig.time.advance(2_500).await?;
    assert_eq!(rig.refused(quota, 1).await?, 1_500);
    assert_eq!(rig.reserve(quota, 10_000).await?, 1_500);
    Ok(())
}

/// A caller that does not wait long enough leaves its place to the next one.
// shows: M2
pub async fn refused_reservation_takes_no_tokens(rig: &Rig) -> Result<()> {
    let quota = rate(1, 1_000, 1);
    rig.take(quota, 1).await?;
    for _ in 0..3 {
        match rig.debit(&[quota], 1, 999).await? {
            Debited::Refused { retry_after_ms: 1_000, level: 0 } => {}
            other => bail!("{other:?}"),
        }
    }
    assert_eq!(rig.reserve(quota, 1_000).await?, 1_000);
    Ok(())
}

/// The place of a reservation is a slot in the future: later calls follow it, or are refused.
// shows: M4, hazard LI14
pub async fn reservation_in_a_window_is_not_overtaken(rig: &Rig) -> Result<()> {
    let quota = window(2, 1_000);
    rig.time.advance(100 - rig.time.now() % 100).await?;
    rig.take(quota, 2).await?;
    assert_eq!(rig.reserve(quota, 2_000).await?, 1_100);
    assert_eq!(rig.refused(quota, 1).await?, 1_100);
    rig.time.advance(200).await?;
    assert_eq!(rig.refused(quota, 1).await?, 900, "in the slot of the reservation");
    assert_eq!(rig.reserve(quota, 2_000).await?, 900);
    assert_eq!(rig.reserve(quota, 2_000).await?, 2_000);
    rig.time.advance(900).await?;
    assert_eq!(rig.refused(quota, 1).await?, 1_100);
    Ok(())
}
