//! Raising a fence, looking at a lock, and breaking it.

use super::world::{LEASE_MS, Party, World};
use anyhow::{Context, Result};
use evenkeel::lock::Fence;
use evenkeel_protocol::lock::steps::{Acquire, Holder, LockSteps, Released, Renewed};

/// SQL has seen a fence that Redis lost: the holder's fence is raised above it, once.
pub async fn raise_lifts_a_fence_that_fell_behind<L: LockSteps>(world: &World<L>) -> Result<()> {
    let ann = Party::new(1);
    let fence = world.take(ann).await?;
    let seen = Fence(fence.0 + 1_000);
    assert_eq!(world.locks.raise(&world.name, ann.owner, seen).await?, Some(Fence(seen.0 + 1)));
    assert_eq!(world.locks.raise(&world.name, ann.owner, seen).await?, Some(Fence(seen.0 + 1)), "a repeat");
    let holder = world.locks.inspect(&world.name).await?.context("it has no holder")?;
    assert_eq!((holder.fence, holder.lease_left_ms), (Fence(seen.0 + 1), LEASE_MS));
    world.give_back(ann).await?;
    assert!(world.take(Party::new(2)).await? > Fence(seen.0 + 1));
    Ok(())
}

/// A zombie that raised its fence would exclude the current holder.
pub async fn raise_requires_the_owner<L: LockSteps>(world: &World<L>) -> Result<()> {
    let (ann, bob) = (Party::new(1), Party::new(2));
    world.take(ann).await?;
    world.time.advance(LEASE_MS).await?;
    assert_eq!(world.locks.raise(&world.name, ann.owner, Fence(u64::from(u32::MAX))).await?, None);
    let fence = world.take(bob).await?;
    assert_eq!(world.locks.raise(&world.name, ann.owner, Fence(fence.0 + 5)).await?, None);
    assert_eq!(world.locks.inspect(&world.name).await?.map(|holder| holder.fence), Some(fence));
    Ok(())
}

/// `inspect` returns the holder, its metadata, and its remaining time.
pub async fn inspect_returns_the_holder<L: LockSteps>(world: &World<L>) -> Result<()> {
    assert_eq!(world.locks.inspect(&world.name).await?, None);
    let ann = Party::new(1);
    let words: bytes::Bytes = "counter 7".into();
    let fence = world.take_with(&Acquire { words: words.clone(), cooling_ms: 500, ..ann.call() }).await?;
    world.taken_for(&Party::new(2).waiting_call()).await?;
    world.time.advance(1_000).await?;
    let (owner, waiting) = (ann.owner, 1);
    let seen = Holder {
        owner,
        fence,
        lease_left_ms: LEASE_MS - 1_000,
        free_in_ms: LEASE_MS - 500,
        held_ms: 1_000,
        waiting,
        words,
    };
    assert_eq!(world.locks.inspect(&world.name).await?, Some(seen.clone()));
    world.time.advance(LEASE_MS - 900).await?;
    let cooling = world.locks.inspect(&world.name).await?.context("it cools")?;
    assert_eq!((cooling.lease_left_ms, cooling.free_in_ms), (0, 400));
    Ok(())
}

/// An operator breaks the lock of the holder that was seen, and not that of the next one.
pub async fn break_affects_only_the_inspected_holder<L: LockSteps>(world: &World<L>) -> Result<()> {
    let (ann, bob) = (Party::new(1), Party::new(2));
    let seen = world.take(ann).await?;
    world.give_back(ann).await?;
    world.take(bob).await?;
    assert_eq!(world.locks.break_lock(&world.name, Some(seen)).await?, None);
    assert_eq!(world.owner().await?, Some(bob.owner));
    let broken = world.locks.break_lock(&world.name, None).await?.context("nothing was broken")?;
    assert_eq!(broken.owner, bob.owner);
    assert_eq!(world.locks.break_lock(&world.name, None).await?, None, "a repeat");
    assert_eq!(world.renew(bob).await?, Renewed::Lost);
    assert_eq!(world.give_back(bob).await?, Released::Nothing);
    assert!(world.take(ann).await? > broken.fence);
    Ok(())
}

/// Breaking ends a lock delay that is not needed.
pub async fn break_ends_the_lock_delay<L: LockSteps>(world: &World<L>) -> Result<()> {
    world.take_with(&Acquire { cooling_ms: 60_000, ..Party::new(1).call() }).await?;
    world.time.advance(LEASE_MS).await?;
    assert!(world.locks.break_lock(&world.name, None).await?.is_some());
    world.take(Party::new(2)).await?;
    Ok(())
}
