//! Leases of shared holders: renewal checks the owner and never creates.

use super::rig::{Rig, owner, reader, writer};
use crate::conformance::lock::LEASE_MS;
use anyhow::Result;
use evenkeel_protocol::lock::pool::steps::PermitRequest;
use evenkeel_protocol::lock::steps::{Released, Renewed};

/// A lease counts from its last renewal.
pub async fn shared_lease_counts_from_its_renewal(rig: &Rig) -> Result<()> {
    rig.enter(&reader(1)).await?;
    for _ in 0..3 {
        rig.time.advance(LEASE_MS - 1).await?;
        assert_eq!(rig.renew(1).await?, Renewed::Renewed { lease_left_ms: LEASE_MS });
    }
    assert_eq!(rig.shut_for(&writer(2)).await?, LEASE_MS);
    assert_eq!(rig.renew(1).await?, Renewed::Held { lease_left_ms: LEASE_MS }, "nothing to win");
    Ok(())
}

/// (L2: a lease kept in a sorted set) A late renewal of a reader restored its expired lease, next to a writer.
// shows: K7
pub async fn shared_renewal_requires_a_holder(rig: &Rig) -> Result<()> {
    assert_eq!(rig.renew(1).await?, Renewed::Lost);
    rig.enter(&reader(1)).await?;
    rig.time.advance(LEASE_MS).await?;
    assert_eq!(
        rig.renew(1).await?,
        Renewed::Lost,
        "its lease has expired, although no other caller has acquired the lock"
    );
    rig.enter(&writer(2)).await?;
    assert_eq!(rig.renew(1).await?, Renewed::Lost);
    assert_eq!(rig.readers().await?, [owner(2)]);
    rig.leave(2).await?;
    assert_eq!(rig.renew(2).await?, Renewed::Lost);
    assert!(rig.readers().await?.is_empty());
    Ok(())
}

/// (L7) A leaked guard was renewed forever.
// shows: K7
pub async fn shared_lease_ends_at_max_hold(rig: &Rig) -> Result<()> {
    rig.enter(&PermitRequest { hold_ms_max: Some(40_000), ..reader(1) }).await?;
    rig.enter(&PermitRequest { hold_ms_max: Some(5_000), ..reader(2) }).await?;
    assert_eq!(rig.renew(2).await?, Renewed::Held { lease_left_ms: 5_000 });
    rig.time.advance(20_000).await?;
    assert_eq!(rig.renew(1).await?, Renewed::Renewed { lease_left_ms: 20_000 });
    assert_eq!(rig.renew(2).await?, Renewed::Lost);
    rig.time.advance(20_000).await?;
    assert_eq!(rig.renew(1).await?, Renewed::Lost);
    rig.enter(&writer(3)).await?;
    Ok(())
}

/// A server clock that was set back by an hour would keep dead readers for an hour.
// shows: K7
pub async fn clock_set_back_does_not_extend_a_pool_lease(rig: &Rig) -> Result<()> {
    rig.enter(&reader(1)).await?;
    rig.time.set_back(3_600_000).await?;
    assert_eq!(rig.shut_for(&writer(2)).await?, LEASE_MS);
    rig.time.advance(LEASE_MS).await?;
    rig.enter(&writer(2)).await?;
    Ok(())
}

/// A holder whose lease has expired has nothing to release, and the reply says so.
pub async fn release_of_an_expired_lease_finds_nothing(rig: &Rig) -> Result<()> {
    rig.enter(&reader(1)).await?;
    rig.enter(&reader(2)).await?;
    rig.time.advance(LEASE_MS).await?;
    assert_eq!(rig.leave(1).await?, Released::Nothing);
    rig.enter(&writer(3)).await?;
    assert_eq!(rig.leave(2).await?, Released::Nothing);
    assert_eq!(rig.readers().await?, [owner(3)]);
    Ok(())
}
