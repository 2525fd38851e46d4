//! Looking at a pool, and taking permits away.

use super::rig::{PERMITS, Rig, owner, permits, reader, waiting, writer};
use crate::conformance::lock::LEASE_MS;
use anyhow::{Context, Result};
use evenkeel::lock::Fence;
use evenkeel_protocol::lock::pool::steps::{BreakHolds, Inspect, PermitRequest, PoolHolder, PoolState, Release};
use evenkeel_protocol::lock::steps::{Released, Renewed};

/// `inspect` returns all holders, their metadata, and the number of waiters.
pub async fn inspect_returns_all_holders(rig: &Rig) -> Result<()> {
    assert_eq!(rig.pools.run(&rig.desks, &Inspect).await?, None);
    let metadata: bytes::Bytes = "counter 7".into();
    rig.sit(&PermitRequest { metadata: metadata.clone(), ..permits(2, 2) }).await?;
    rig.time.advance(1_000).await?;
    rig.sit(&permits(1, 1)).await?;
    rig.full_for(&waiting(permits(3, 1))).await?;
    let first = PoolHolder { owner: owner(2), permits: 2, lease_left_ms: LEASE_MS - 1_000, held_ms: 1_000, metadata };
    let second =
        PoolHolder { owner: owner(1), permits: 1, lease_left_ms: LEASE_MS, held_ms: 0, metadata: bytes::Bytes::new() };
    let holders = vec![first, second];
    let seen = PoolState { permits_in_all: PERMITS, fence: Fence(0), holders, waiting: 1 };
    assert_eq!(rig.pools.run(&rig.desks, &Inspect).await?, Some(seen));
    rig.stand_up(1).await?;
    rig.stand_up(2).await?;
    rig.stand_up(3).await?;
    assert!(rig.pools.run(&rig.desks, &Inspect).await?.context("it is known still")?.is_idle());
    Ok(())
}

/// An operator takes permits from the holder that was seen, and not from the others.
// shows: lock::RwLock::inspect, lock::RwLock::break_holds, lock::Semaphore::inspect, lock::Semaphore::break_holds
// shows: lock::Keel::rw_locks_known, lock::Keel::semaphores_known
pub async fn break_removes_only_the_named_holder(rig: &Rig) -> Result<()> {
    rig.enter(&reader(1)).await?;
    rig.enter(&reader(2)).await?;
    let broken = rig.pools.run(&rig.shelf, &BreakHolds(Some(owner(1)))).await?;
    assert_eq!(broken.iter().map(|holder| holder.owner).collect::<Vec<_>>(), [owner(1)]);
    assert!(rig.pools.run(&rig.shelf, &BreakHolds(Some(owner(1)))).await?.is_empty(), "a repeat");
    assert_eq!(rig.renew(1).await?, Renewed::Lost);
    assert_eq!(rig.leave(1).await?, Released::Nothing);
    assert_eq!(rig.readers().await?, [owner(2)]);
    Ok(())
}

/// Without a name, all of them; the next fence is above theirs.
// shows: lock::RwLock::inspect, lock::RwLock::break_holds, lock::Semaphore::inspect, lock::Semaphore::break_holds
// shows: lock::Keel::rw_locks_known, lock::Keel::semaphores_known
pub async fn break_without_an_owner_removes_all_holders(rig: &Rig) -> Result<()> {
    let (fence, _) = rig.enter(&reader(1)).await?;
    rig.enter(&reader(2)).await?;
    assert_eq!(rig.pools.run(&rig.shelf, &BreakHolds(None)).await?.len(), 2);
    assert!(rig.enter(&writer(3)).await?.0 > fence);
    Ok(())
}

/// A read/write lock and a semaphore of one name have nothing in common.
pub async fn pools_of_two_kinds_are_independent(rig: &Rig) -> Result<()> {
    rig.enter(&writer(1)).await?;
    let twin = rig.pools.pool(rig.desks.kind(), rig.shelf.name().clone());
    assert!(rig.pools.run(&twin, &Inspect).await?.is_none());
    let granted = rig.pools.run(&twin, &permits(1, 1)).await?;
    assert!(matches!(granted, evenkeel_protocol::lock::pool::steps::PermitReply::Granted { .. }), "{granted:?}");
    assert_eq!(rig.pools.run(&twin, &Release { owner: owner(1) }).await?, Released::Released { others_waiting: 0 });
    assert_eq!(rig.readers().await?, [owner(1)]);
    Ok(())
}
