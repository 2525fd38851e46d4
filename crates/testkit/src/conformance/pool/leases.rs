//! Leases of shared holders: renewal checks the owner and never creates.

use super::world::{World, owner, reader, writer};
use crate::conformance::lock::LEASE_MS;
use anyhow::Result;
use evenkeel_protocol::lock::pool::steps::{Ask, PoolSteps};
use evenkeel_protocol::lock::steps::{Released, Renewed};

/// A lease counts from its last renewal.
pub async fn shared_lease_counts_from_its_renewal<P: PoolSteps>(world: &World<P>) -> Result<()> {
    world.enter(&reader(1)).await?;
    for _ in 0..3 {
        world.time.advance(LEASE_MS - 1).await?;
        assert_eq!(world.renew(1).await?, Renewed::Renewed { lease_left_ms: LEASE_MS });
    }
    assert_eq!(world.shut_for(&writer(2)).await?, LEASE_MS);
    assert_eq!(world.renew(1).await?, Renewed::Held { lease_left_ms: LEASE_MS }, "nothing to win");
    Ok(())
}

/// (L2: a lease kept in a sorted set) A late renewal of a reader restored its expired lease, next to a writer.
pub async fn shared_renewal_requires_a_holder<P: PoolSteps>(world: &World<P>) -> Result<()> {
    assert_eq!(world.renew(1).await?, Renewed::Lost);
    world.enter(&reader(1)).await?;
    world.time.advance(LEASE_MS).await?;
    assert_eq!(world.renew(1).await?, Renewed::Lost, "its lease has expired, though no other came since");
    world.enter(&writer(2)).await?;
    assert_eq!(world.renew(1).await?, Renewed::Lost);
    assert_eq!(world.readers().await?, [owner(2)]);
    world.leave(2).await?;
    assert_eq!(world.renew(2).await?, Renewed::Lost);
    assert!(world.readers().await?.is_empty());
    Ok(())
}

/// (L7) A leaked guard was renewed forever.
pub async fn shared_lease_ends_at_max_hold<P: PoolSteps>(world: &World<P>) -> Result<()> {
    world.enter(&Ask { hold_ms_max: Some(40_000), ..reader(1) }).await?;
    world.enter(&Ask { hold_ms_max: Some(5_000), ..reader(2) }).await?;
    assert_eq!(world.renew(2).await?, Renewed::Held { lease_left_ms: 5_000 });
    world.time.advance(20_000).await?;
    assert_eq!(world.renew(1).await?, Renewed::Renewed { lease_left_ms: 20_000 });
    assert_eq!(world.renew(2).await?, Renewed::Lost);
    world.time.advance(20_000).await?;
    assert_eq!(world.renew(1).await?, Renewed::Lost);
    world.enter(&writer(3)).await?;
    Ok(())
}

/// A server clock that was set back by an hour would keep dead readers for an hour.
pub async fn clock_set_back_does_not_extend_a_pool_lease<P: PoolSteps>(world: &World<P>) -> Result<()> {
    world.enter(&reader(1)).await?;
    world.time.set_back(3_600_000).await?;
    assert_eq!(world.shut_for(&writer(2)).await?, LEASE_MS);
    world.time.advance(LEASE_MS).await?;
    world.enter(&writer(2)).await?;
    Ok(())
}

/// A holder whose lease has expired has nothing to release, and the reply says so.
pub async fn release_of_an_expired_lease_finds_nothing<P: PoolSteps>(world: &World<P>) -> Result<()> {
    world.enter(&reader(1)).await?;
    world.enter(&reader(2)).await?;
    world.time.advance(LEASE_MS).await?;
    assert_eq!(world.leave(1).await?, Released::Nothing);
    world.enter(&writer(3)).await?;
    assert_eq!(world.leave(2).await?, Released::Nothing);
    assert_eq!(world.readers().await?, [owner(3)]);
    Ok(())
}
