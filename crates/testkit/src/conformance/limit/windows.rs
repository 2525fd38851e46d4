//! Sliding windows.

use super::rig::{Rig, window};
use anyhow::Result;

/// Moves the clock to the beginning of a slot of 100 ms.
async fn align(rig: &Rig) -> Result<()> {
    rig.time.advance(100 - rig.time.now() % 100).await
}

/// An interval of ten slots touches eleven: tokens at the end of the oldest of them count.
// shows: M1, hazard LI6
pub async fn interval_between_slots_admits_no_more_than_the_window(rig: &Rig) -> Result<()> {
    let quota = window(10, 1_000);
    align(rig).await?;
    rig.time.advance(99).await?;
    assert_eq!(rig.take(quota, 10).await?, 0);
    rig.time.advance(999).await?;
    assert_eq!(rig.refused(quota, 1).await?, 2);
    rig.time.advance(2).await?;
    assert_eq!(rig.take(quota, 10).await?, 0);
    Ok(())
}

/// The tokens of a slot return when the window has passed it.
// shows: M1
pub async fn window_admits_again_after_eleven_slots(rig: &Rig) -> Result<()> {
    let quota = window(10, 1_000);
    align(rig).await?;
    rig.take(quota, 10).await?;
    assert_eq!(rig.refused(quota, 1).await?, 1_100);
    rig.time.advance(1_099).await?;
    assert_eq!(rig.refused(quota, 10).await?, 1);
    rig.time.advance(1).await?;
    assert_eq!(rig.take(quota, 10).await?, 0);
    rig.time.advance(86_400_000).await?;
    assert_eq!(rig.take(quota, 1).await?, 9, "the last tokens are long past");
    Ok(())
}

/// Tokens of different slots return one after another.
// shows: M1
pub async fn window_counts_each_slot_by_itself(rig: &Rig) -> Result<()> {
    let quota = window(10, 1_000);
    align(rig).await?;
    for left in [8, 6, 4, 2, 0] {
        assert_eq!(rig.take(quota, 2).await?, left);
        rig.time.advance(200).await?;
    }
    assert_eq!(rig.refused(quota, 2).await?, 100);
    assert_eq!(rig.refused(quota, 3).await?, 300);
    rig.time.advance(100).await?;
    assert_eq!(rig.take(quota, 2).await?, 0);
    assert_eq!(rig.refused(quota, 1).await?, 200);
    Ok(())
}
