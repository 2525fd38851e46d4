//! Many readers, or one writer.

use super::world::{World, owner, reader, writer};
use crate::conformance::lock::LEASE_MS;
use anyhow::Result;
use evenkeel_protocol::lock::pool::steps::{Asked, PoolSteps};
use evenkeel_protocol::lock::steps::Released;

/// Readers do not wait for each other; a writer waits for all of them.
pub async fn readers_share_and_a_writer_is_exclusive<P: PoolSteps>(world: &World<P>) -> Result<()> {
    for number in 1..=3 {
        world.enter(&reader(number)).await?;
        world.time.advance(1_000).await?;
    }
    assert_eq!(world.shut_for(&writer(9)).await?, LEASE_MS - 1_000, "the last lease decides");
    assert_eq!(world.readers().await?, [owner(1), owner(2), owner(3)]);
    world.leave(1).await?;
    world.leave(3).await?;
    assert_eq!(world.shut_for(&writer(9)).await?, LEASE_MS - 2_000);
    world.leave(2).await?;
    world.enter(&writer(9)).await?;
    Ok(())
}

/// A writer excludes readers and other writers.
pub async fn writer_excludes_readers<P: PoolSteps>(world: &World<P>) -> Result<()> {
    world.enter(&writer(1)).await?;
    assert_eq!(world.shut_for(&reader(2)).await?, LEASE_MS);
    assert_eq!(world.shut_for(&writer(3)).await?, LEASE_MS);
    assert_eq!(world.leave(1).await?, Released::Released { others_waiting: 0 }, "they did not wait");
    world.enter(&reader(2)).await?;
    world.enter(&reader(4)).await?;
    Ok(())
}

/// (Counters without leases) A dead reader was counted forever, and no writer ever entered.
pub async fn dead_reader_is_removed_after_its_lease<P: PoolSteps>(world: &World<P>) -> Result<()> {
    world.enter(&reader(1)).await?;
    world.time.advance(LEASE_MS - 1).await?;
    assert_eq!(world.shut_for(&writer(2)).await?, 1);
    world.time.advance(1).await?;
    assert!(world.readers().await?.is_empty());
    world.enter(&writer(2)).await?;
    assert_eq!(world.readers().await?, [owner(2)]);
    Ok(())
}

/// (One time to live for the whole lock) A reader that renewed kept the dead ones alive with it.
pub async fn each_reader_has_its_own_lease<P: PoolSteps>(world: &World<P>) -> Result<()> {
    world.enter(&reader(1)).await?;
    world.enter(&reader(2)).await?;
    world.time.advance(LEASE_MS - 1).await?;
    world.renew(1).await?;
    world.time.advance(1).await?;
    assert_eq!(world.readers().await?, [owner(1)]);
    world.leave(1).await?;
    world.enter(&writer(3)).await?;
    Ok(())
}

/// (L6) The reply was lost: the caller asks again, and must neither count twice nor wait for itself.
pub async fn repeated_acquire_returns_the_same_result<P: PoolSteps>(world: &World<P>) -> Result<()> {
    for ask in [reader(1), writer(2)] {
        let (fence, signer) = world.enter(&ask).await?;
        world.time.advance(500).await?;
        let again = world.pools.acquire(&world.shelf, &ask).await?;
        assert_eq!(again, Asked::Granted { lease_left_ms: LEASE_MS - 500, fence, signer });
        assert_eq!(world.readers().await?.len(), 1);
        world.pools.release(&world.shelf, ask.owner).await?;
    }
    Ok(())
}
