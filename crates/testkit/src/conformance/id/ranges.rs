//! Ranges that the store hands out.

use super::rig::Rig;
use anyhow::Result;
use evenkeel_protocol::id::steps::{Below, Load, Loaded, Raise, Take};
use evenkeel_protocol::id::witness::NUMBER_MAX;
use std::ops::Range;

async fn take(rig: &Rig, count: u64, least: u64) -> Result<Option<Range<u64>>> {
    Ok(rig.witnesses.run(&rig.sequence, &Take { count, least }).await?)
}

async fn load(rig: &Rig, from: u64, until: u64) -> Result<Loaded> {
    Ok(rig.witnesses.run(&rig.sequence, &Load { from, until, count: 3 }).await?)
}

/// (I5) Each number of a range is handed out once, and the range does not begin again.
// shows: I5
pub async fn range_is_handed_out_until_it_is_used_up(rig: &Rig) -> Result<()> {
    assert_eq!(take(rig, 5, 0).await?, None);
    assert_eq!(load(rig, 1, 11).await?, Loaded::Taken(1..4));
    assert_eq!(take(rig, 5, 0).await?, Some(4..9));
    assert_eq!(take(rig, 5, 0).await?, Some(9..11));
    assert_eq!(take(rig, 5, 0).await?, None);
    assert_eq!(load(rig, 11, 12).await?, Loaded::Taken(11..12));
    assert_eq!(take(rig, 5, 0).await?, None);
    let other = rig.witnesses.sequence("receipts")?;
    assert_eq!(rig.witnesses.run(&other, &Take { count: 1, least: 0 }).await?, None);
    Ok(())
}

/// (I5) A range that begins below the witness was used before the database was restored.
// shows: I5, hazard GI15
pub async fn range_below_the_witness_is_refused(rig: &Rig) -> Result<()> {
    let raise = async |from, until| rig.witnesses.run(&rig.sequence, &Raise { from, until }).await;
    assert_eq!(raise(1, 101).await?, Ok(()));
    let below = Loaded::Below(Below { witness: 101 });
    assert_eq!(load(rig, 1, 101).await?, below);
    assert_eq!(load(rig, 100, 201).await?, below);
    assert_eq!(take(rig, 1, 0).await?, None);
    assert_eq!(load(rig, 101, 201).await?, Loaded::Taken(101..104));
    assert_eq!(raise(101, 201).await?, Err(Below { witness: 201 }), "a range is witnessed, too");
    Ok(())
}

/// The range of another process goes on, and the refused one leaves no witness.
pub async fn range_that_is_not_used_up_is_not_replaced(rig: &Rig) -> Result<()> {
    assert_eq!(load(rig, 1, 11).await?, Loaded::Taken(1..4));
    assert_eq!(load(rig, 11, 21).await?, Loaded::Occupied);
    assert_eq!(take(rig, 100, 0).await?, Some(4..11));
    assert_eq!(load(rig, 11, 21).await?, Loaded::Taken(11..14));
    Ok(())
}

/// (I4) The numbers of one process rise: those below its last block are left out.
pub async fn numbers_below_the_least_are_left_out(rig: &Rig) -> Result<()> {
    assert_eq!(load(rig, 1, 101).await?, Loaded::Taken(1..4));
    assert_eq!(take(rig, 5, 50).await?, Some(50..55));
    assert_eq!(take(rig, 5, 101).await?, None);
    assert_eq!(take(rig, 5, 7).await?, Some(55..60));
    Ok(())
}

/// The largest numbers are handed out exactly; larger ones are rejected.
pub async fn largest_numbers_of_ranges_are_exact(rig: &Rig) -> Result<()> {
    for (from, until) in [(NUMBER_MAX, NUMBER_MAX + 1), (5, 5), (6, 5), (u64::MAX, u64::MAX)] {
        assert!(load(rig, from, until).await.is_err(), "{from} to {until}");
    }
    assert!(take(rig, 0, 0).await.is_err() && take(rig, u64::MAX, 0).await.is_err());
    assert_eq!(load(rig, NUMBER_MAX - 6, NUMBER_MAX).await?, Loaded::Taken(NUMBER_MAX - 6..NUMBER_MAX - 3));
    assert_eq!(take(rig, NUMBER_MAX, NUMBER_MAX - 2).await?, Some(NUMBER_MAX - 2..NUMBER_MAX));
    assert_eq!(take(rig, 1, u64::MAX).await?, None);
    Ok(())
}
