//! Many readers, or one writer.

use super::rig::{Rig, owner, reader, writer};
use crate::conformance::lock::LEASE_MS;
use anyhow::Result;
use evenkeel_protocol::lock::pool::steps::{PermitReply, Release};
use evenkeel_protocol::lock::steps::Released;

/// Readers do not wait for each other; a writer waits for all of them.
// shows: K7
pub async fn readers_share_and_a_writer_is_exclusive(rig: &Rig) -> Result<()> {
    for number in 1..=3 {
        rig.enter(&reader(number)).await?;
        rig.time.advance(1_000).await?;
    }
    assert_eq!(rig.shut_for(&writer(9)).await?, LEASE_MS - 1_000, "the last lease decides");
    assert_eq!(rig.readers().await?, [owner(1), owner(2), owner(3)]);
    rig.leave(1).await?;
    rig.leave(3).await?;
    assert_eq!(rig.shut_for(&writer(9)).await?, LEASE_MS - 2_000);
    rig.leave(2).await?;
    rig.enter(&writer(9)).await?;
    Ok(())
}

/// A writer excludes readers and other writers.
// shows: K7
pub async fn writer_excludes_readers(rig: &Rig) -> Result<()> {
    rig.enter(&writer(1)).await?;
    assert_eq!(rig.shut_for(&reader(2)).await?, LEASE_MS);
    assert_eq!(rig.shut_for(&writer(3)).await?, LEASE_MS);
    assert_eq!(rig.leave(1).await?, Released::Released { others_waiting: 0 }, "they did not wait");
    rig.enter(&reader(2)).await?;
    rig.enter(&reader(4)).await?;
    Ok(())
}

/// (Counters without leases) A dead reader was counted forever, and no writer ever entered.
// shows: K7
pub async fn dead_reader_is_removed_after_its_lease(rig: &Rig) -> Result<()> {
    rig.enter(&reader(1)).await?;
    rig.time.advance(LEASE_MS - 1).await?;
    assert_eq!(rig.shut_for(&writer(2)).await?, 1);
    rig.time.advance(1).await?;
    assert!(rig.readers().await?.is_empty());
    rig.enter(&writer(2)).await?;
    assert_eq!(rig.readers().await?, [owner(2)]);
    Ok(())
}

/// (One time to live for the whole lock) A reader that renewed kept the dead ones alive with it.
// shows: K7
pub async fn each_reader_has_its_own_lease(rig: &Rig) -> Result<()> {
    rig.enter(&reader(1)).await?;
    rig.enter(&reader(2)).await?;
    rig.time.advance(LEASE_MS - 1).await?;
    rig.renew(1).await?;
    rig.time.advance(1).await?;
    assert_eq!(rig.readers().await?, [owner(1)]);
    rig.leave(1).await?;
    rig.enter(&writer(3)).await?;
    Ok(())
}

/// (L6) The reply was lost: the caller asks again, and must neither count twice nor wait for itself.
// shows: K7, spec/lock.md
pub async fn repeated_acquire_returns_the_same_result(rig: &Rig) -> Result<()> {
    for ask in [reader(1), writer(2)] {
        let (fence, signer) = rig.enter(&ask).await?;
        rig.time.advance(500).await?;
        let again = rig.pools.run(&rig.shelf, &ask).await?;
        assert_eq!(again, PermitReply::Granted { lease_left_ms: LEASE_MS - 500, fence, signer });
        assert_eq!(rig.readers().await?.len(), 1);
        rig.pools.run(&rig.shelf, &Release { owner: ask.owner }).await?;
    }
    Ok(())
}
