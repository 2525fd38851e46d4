//! The witness of a sequence.

use super::rig::Rig;
use anyhow::Result;
use evenkeel_protocol::id::steps::{Below, Raise};
use evenkeel_protocol::id::witness::NUMBER_MAX;

/// (I4) A block below one that was used is refused, also one that is partly below, and a repeat.
// shows: I4
pub async fn witness_refuses_blocks_below_a_used_one(rig: &Rig) -> Result<()> {
    let raise = async |from, until| rig.witnesses.run(&rig.sequence, &Raise { from, until }).await;
    assert_eq!(raise(1, 101).await?, Ok(()));
    assert_eq!(raise(101, 201).await?, Ok(()));
    let below = Err(Below { witness: 201 });
    for (from, until) in [(101, 201), (1, 101), (200, 300), (1, 1_000)] {
        assert_eq!(raise(from, until).await?, below, "{from} to {until}");
    }
    assert_eq!(raise(1_000, 1_001).await?, Ok(()), "numbers may be left out");
    assert_eq!(raise(300, 400).await?, Err(Below { witness: 1_001 }), "another process was faster");
    Ok(())
}

/// The largest numbers are compared exactly, and sequences are independent of each other.
// shows: I4
pub async fn witness_compares_the_largest_numbers(rig: &Rig) -> Result<()> {
    let raise = async |from, until| rig.witnesses.run(&rig.sequence, &Raise { from, until }).await;
    assert_eq!(raise(NUMBER_MAX - 2, NUMBER_MAX - 1).await?, Ok(()));
    assert_eq!(raise(NUMBER_MAX - 2, NUMBER_MAX).await?, Err(Below { witness: NUMBER_MAX - 1 }));
    assert_eq!(raise(NUMBER_MAX - 1, NUMBER_MAX).await?, Ok(()));
    for (from, until) in [(NUMBER_MAX, NUMBER_MAX + 1), (1, u64::MAX), (u64::MAX, u64::MAX), (5, 5), (6, 5)] {
        assert!(raise(from, until).await.is_err(), "{from} to {until}");
    }
    let other = rig.witnesses.sequence("receipts")?;
    assert_eq!(rig.witnesses.run(&other, &Raise { from: 1, until: 2 }).await?, Ok(()));
    Ok(())
}
