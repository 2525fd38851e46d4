//! Which caller gets a lock, for how long, and with which fence.

use super::rig::{LEASE_MS, Party, Rig};
use anyhow::Result;
use bytes::Bytes;
use evenkeel::lock::Fence;
use evenkeel_protocol::lock::steps::{Acquire, Acquired, FENCE_MAX, LockSteps, METADATA_BYTES_MAX};

/// One at a time.
pub async fn free_lock_is_granted_once<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let (ann, bob) = (Party::new(1), Party::new(2));
    assert!(matches!(rig.ask(&ann.call()).await?, Acquired::Granted { lease_left_ms: LEASE_MS, .. }));
    assert_eq!(rig.taken_for(&bob.call()).await?, LEASE_MS);
    rig.time.advance(1_000).await?;
    assert_eq!(rig.taken_for(&bob.call()).await?, LEASE_MS - 1_000);
    assert_eq!(rig.owner().await?, Some(ann.owner));
    Ok(())
}

/// (L6) The reply was lost: the caller asks again and must get its own lock, not wait for itself.
// shows: hazard L6, spec/lock.md
pub async fn repeated_call_returns_the_same_reply<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let ann = Party::new(1);
    let fence = rig.take(ann).await?;
    rig.time.advance(500).await?;
    let again = rig.ask(&ann.call()).await?;
    assert_eq!(again, Acquired::Granted { fence, lease_left_ms: LEASE_MS - 500 }, "the lease did not begin anew");
    Ok(())
}

/// (L5) A fence that does not rise excludes no earlier holder.
// shows: K2
pub async fn fences_rise_within_one_millisecond<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let mut last = Fence(0);
    for number in 1..=5 {
        let party = Party::new(number);
        let fence = rig.take(party).await?;
        assert!(fence > last, "{fence} follows {last}");
        last = fence;
        rig.give_back(party).await?;
    }
    Ok(())
}

/// (L5) A counter begins at one again after a flush or a failover to an empty server, and a zombie passes.
// shows: K2
pub async fn fence_is_at_least_the_server_time<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let fence = rig.take(Party::new(1)).await?;
    assert!(fence.0 >= rig.time.now() * 1_000, "{fence}");
    Ok(())
}

/// (L5) The new server's clock is behind: the fence that SQL has seen is the floor.
// shows: K2
pub async fn new_fence_exceeds_the_fence_seen_by_sql<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let seen = (rig.time.now() + 3_600_000) * 1_000;
    let fence = rig.take_with(&Acquire { fence_floor: seen, ..Party::new(1).call() }).await?;
    assert_eq!(fence, Fence(seen + 1));
    rig.give_back(Party::new(1)).await?;
    assert_eq!(rig.take(Party::new(2)).await?, Fence(seen + 2), "the next one is above it without a floor");
    Ok(())
}

/// A dead holder blocks others no longer than its lease.
pub async fn expired_lock_is_free<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let (ann, bob) = (Party::new(1), Party::new(2));
    let first = rig.take(ann).await?;
    rig.time.advance(LEASE_MS - 1).await?;
    assert_eq!(rig.taken_for(&bob.call()).await?, 1);
    rig.time.advance(1).await?;
    assert_eq!(rig.owner().await?, None);
    assert!(rig.take(bob).await? > first);
    Ok(())
}

/// (Consul's lock-delay) It is unknown what a holder with an expired lease is still doing.
// shows: hazard L12, spec/lock.md
pub async fn expired_lease_starts_the_lock_delay<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let (ann, bob) = (Party::new(1), Party::new(2));
    rig.take_with(&Acquire { cooling_ms: 5_000, ..ann.call() }).await?;
    rig.time.advance(LEASE_MS).await?;
    assert_eq!(rig.taken_for(&bob.call()).await?, 5_000);
    assert_eq!(rig.taken_for(&ann.call()).await?, 5_000, "its former owner least of all");
    rig.time.advance(5_000).await?;
    rig.take(bob).await?;
    Ok(())
}

/// A server clock that was set back by an hour would keep a dead holder's lock from all others for an hour.
// shows: KR1
pub async fn clock_set_back_does_not_extend_a_lease<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let (ann, bob) = (Party::new(1), Party::new(2));
    rig.take(ann).await?;
    rig.time.set_back(3_600_000).await?;
    assert_eq!(rig.taken_for(&bob.call()).await?, LEASE_MS);
    rig.time.advance(LEASE_MS).await?;
    rig.take(bob).await?;
    Ok(())
}

/// Invalid requests are rejected before anything is sent.
// shows: lock::LockBuilder::acquire, lock::LockBuilder::try_acquire, lock::ExclusiveLocks::try_acquire
pub async fn invalid_arguments_are_rejected<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let call = Party::new(1).call();
    for wrong in [
        Acquire { lease_ms: 0, ..call.clone() },
        Acquire { lease_ms: u64::from(u32::MAX) + 1, ..call.clone() },
        Acquire { cooling_ms: u64::MAX, ..call.clone() },
        Acquire { fence_floor: FENCE_MAX, ..call.clone() },
        Acquire { metadata: Bytes::from(vec![b'x'; METADATA_BYTES_MAX + 1]), ..call.clone() },
    ] {
        assert!(rig.locks.acquire(&rig.name, &wrong).await.is_err(), "{wrong:?}");
    }
    assert_eq!(rig.owner().await?, None);
    Ok(())
}
