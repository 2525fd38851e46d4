//! Raising a fence, looking at a lock, and breaking it.

use super::rig::{LEASE_MS, Party, Rig};
use anyhow::{Context, Result};
use evenkeel::lock::Fence;
use evenkeel_protocol::lock::steps::{Acquire, Holder, LockSteps, Released, Renewed};

/// SQL has seen a fence that Redis lost: the holder's fence is raised above it, once.
// shows: K2
pub async fn raise_lifts_a_fence_that_fell_behind<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let ann = Party::new(1);
    let fence = rig.take(ann).await?;
    let seen = Fence(fence.0 + 1_000);
    assert_eq!(rig.locks.raise(&rig.name, ann.owner, seen).await?, Some(Fence(seen.0 + 1)));
    assert_eq!(rig.locks.raise(&rig.name, ann.owner, seen).await?, Some(Fence(seen.0 + 1)), "a repeat");
    let holder = rig.locks.inspect(&rig.name).await?.context("it has no holder")?;
    assert_eq!((holder.fence, holder.lease_left_ms), (Fence(seen.0 + 1), LEASE_MS));
    rig.give_back(ann).await?;
    assert!(rig.take(Party::new(2)).await? > Fence(seen.0 + 1));
    Ok(())
}

/// A zombie that raised its fence would exclude the current holder.
// shows: K2, KR1
pub async fn raise_requires_the_owner<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let (ann, bob) = (Party::new(1), Party::new(2));
    rig.take(ann).await?;
    rig.time.advance(LEASE_MS).await?;
    assert_eq!(rig.locks.raise(&rig.name, ann.owner, Fence(u64::from(u32::MAX))).await?, None);
    let fence = rig.take(bob).await?;
    assert_eq!(rig.locks.raise(&rig.name, ann.owner, Fence(fence.0 + 5)).await?, None);
    assert_eq!(rig.locks.inspect(&rig.name).await?.map(|holder| holder.fence), Some(fence));
    Ok(())
}

/// `inspect` returns the holder, its metadata, and its remaining time.
// shows: lock::LockBuilder::inspect, lock::LockBuilder::break_lock, lock::Keel::locks_held
pub async fn inspect_returns_the_holder<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    assert_eq!(rig.locks.inspect(&rig.name).await?, None);
    let ann = Party::new(1);
    let metadata: bytes::Bytes = "counter 7".into();
    let fence = rig.take_with(&Acquire { metadata: metadata.clone(), cooling_ms: 500, ..ann.call() }).await?;
    rig.taken_for(&Party::new(2).waiting_call()).await?;
    rig.time.advance(1_000).await?;
    let (owner, waiting) = (ann.owner, 1);
    let seen = Holder {
        owner,
        fence,
        lease_left_ms: LEASE_MS - 1_000,
        free_in_ms: LEASE_MS - 500,
        held_ms: 1_000,
        waiting,
        metadata,
    };
    assert_eq!(rig.locks.inspect(&rig.name).await?, Some(seen.clone()));
    rig.time.advance(LEASE_MS - 900).await?;
    let cooling = rig.locks.inspect(&rig.name).await?.context("it cools")?;
    assert_eq!((cooling.lease_left_ms, cooling.free_in_ms), (0, 400));
    Ok(())
}

/// An operator breaks the lock of the holder that was seen, and not that of the next one.
// shows: lock::LockBuilder::inspect, lock::LockBuilder::break_lock, lock::Keel::locks_held
pub async fn break_affects_only_the_inspected_holder<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let (ann, bob) = (Party::new(1), Party::new(2));
    let seen = rig.take(ann).await?;
    rig.give_back(ann).await?;
    rig.take(bob).await?;
    assert_eq!(rig.locks.break_lock(&rig.name, Some(seen)).await?, None);
    assert_eq!(rig.owner().await?, Some(bob.owner));
    let broken = rig.locks.break_lock(&rig.name, None).await?.context("nothing was broken")?;
    assert_eq!(broken.owner, bob.owner);
    assert_eq!(rig.locks.break_lock(&rig.name, None).await?, None, "a repeat");
    assert_eq!(rig.renew(bob).await?, Renewed::Lost);
    assert_eq!(rig.give_back(bob).await?, Released::Nothing);
    assert!(rig.take(ann).await? > broken.fence);
    Ok(())
}

/// Breaking ends a lock delay that is not needed.
pub async fn break_ends_the_lock_delay<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    rig.take_with(&Acquire { cooling_ms: 60_000, ..Party::new(1).call() }).await?;
    rig.time.advance(LEASE_MS).await?;
    assert!(rig.locks.break_lock(&rig.name, None).await?.is_some());
    rig.take(Party::new(2)).await?;
    Ok(())
}
