//! Giving a lock back, and whose turn it is then.

use super::world::{LEASE_MS, Party, World};
use anyhow::Result;
use evenkeel_protocol::lock::steps::{Acquire, Acquired, LockSteps, Release, Released};

const NOBODY_WAITS: Released = Released::Released { others_waiting: 0 };

/// A repeat finds nothing, and says so.
pub async fn repeated_release_finds_nothing<L: LockSteps>(world: &World<L>) -> Result<()> {
    let ann = Party::new(1);
    world.take(ann).await?;
    assert_eq!(world.give_back(ann).await?, NOBODY_WAITS);
    assert_eq!(world.give_back(ann).await?, Released::Nothing);
    assert_eq!(world.owner().await?, None);
    world.take(Party::new(2)).await?;
    Ok(())
}

/// A holder stopped past its lease deleted the lock of the next one (the classical recipe without a check of the owner).
pub async fn late_release_does_not_free_the_next_holder<L: LockSteps>(world: &World<L>) -> Result<()> {
    let (ann, bob) = (Party::new(1), Party::new(2));
    world.take(ann).await?;
    world.time.advance(LEASE_MS).await?;
    world.take(bob).await?;
    assert_eq!(world.give_back(ann).await?, Released::Lost);
    assert_eq!(world.owner().await?, Some(bob.owner));
    Ok(())
}

/// The release of a holder that came too late must not end the time in which it is waited for.
pub async fn late_release_does_not_end_the_lock_delay<L: LockSteps>(world: &World<L>) -> Result<()> {
    let ann = Party::new(1);
    world.take_with(&Acquire { cooling_ms: 5_000, ..ann.call() }).await?;
    world.time.advance(LEASE_MS).await?;
    assert_eq!(world.give_back(ann).await?, Released::Lost);
    assert_eq!(world.taken_for(&Party::new(2).call()).await?, 5_000);
    Ok(())
}

/// A release, unlike an expiry, says that its holder has stopped.
pub async fn release_starts_no_lock_delay<L: LockSteps>(world: &World<L>) -> Result<()> {
    let ann = Party::new(1);
    world.take_with(&Acquire { cooling_ms: 5_000, ..ann.call() }).await?;
    assert_eq!(world.give_back(ann).await?, NOBODY_WAITS);
    world.take(Party::new(2)).await?;
    Ok(())
}

/// A busy process acquired the lock repeatedly, before the notified waiters ran.
pub async fn releasing_process_yields_to_waiters<L: LockSteps>(world: &World<L>) -> Result<()> {
    let (ann, bob) = (Party::new(1), Party::new(2));
    world.take(ann).await?;
    world.taken_for(&bob.waiting_call()).await?;
    assert_eq!(world.give_back(ann).await?, Released::Released { others_waiting: 1 });
    let next = ann.neighbor(3);
    assert_eq!(world.taken_for(&next.waiting_call()).await?, 20, "the whole process waits, not this owner only");
    world.take(bob).await?;
    assert_eq!(world.give_back(bob).await?, Released::Released { others_waiting: 1 });
    world.take(next).await?;
    Ok(())
}

/// No caller waits for a waiter that does not come.
pub async fn reserved_turn_expires<L: LockSteps>(world: &World<L>) -> Result<()> {
    let (ann, bob) = (Party::new(1), Party::new(2));
    world.take(ann).await?;
    world.taken_for(&bob.waiting_call()).await?;
    world.give_back(ann).await?;
    world.time.advance(20).await?;
    world.take(ann.neighbor(3)).await?;
    assert_eq!(world.taken_for(&bob.call()).await?, LEASE_MS);
    Ok(())
}

/// The longest waiter is called once. A process that died while it waited, or waits no more, would be called at every
/// release, and the others would have to poll.
pub async fn called_waiter_that_stays_away_is_not_counted<L: LockSteps>(world: &World<L>) -> Result<()> {
    let (ann, bob, eve, dan) = (Party::new(1), Party::new(2), Party::new(3), Party::new(4));
    world.take(ann).await?;
    world.taken_for(&bob.waiting_call()).await?;
    world.time.advance(1).await?;
    world.taken_for(&eve.waiting_call()).await?;
    assert_eq!(world.give_back(ann).await?, Released::Released { others_waiting: 2 });
    world.time.advance(20).await?;
    world.take(dan).await?;
    assert_eq!(world.give_back(dan).await?, Released::Released { others_waiting: 1 }, "bob was called");
    Ok(())
}

/// Without waiters the lock is free at once, for every process.
pub async fn release_without_waiters_frees_the_lock_for_all<L: LockSteps>(world: &World<L>) -> Result<()> {
    let (ann, bob) = (Party::new(1), Party::new(2));
    world.take(ann).await?;
    world.taken_for(&bob.call()).await?;
    assert_eq!(world.give_back(ann).await?, NOBODY_WAITS, "bob does not wait");
    world.take(ann.neighbor(3)).await?;
    Ok(())
}

/// A process that died while it waited counts for two seconds.
pub async fn silent_waiter_is_forgotten<L: LockSteps>(world: &World<L>) -> Result<()> {
    let (ann, bob) = (Party::new(1), Party::new(2));
    world.take(ann).await?;
    world.taken_for(&bob.waiting_call()).await?;
    world.time.advance(1_999).await?;
    assert_eq!(world.locks.inspect(&world.name).await?.map(|holder| holder.waiting), Some(1));
    world.time.advance(1).await?;
    assert_eq!(world.locks.inspect(&world.name).await?.map(|holder| holder.waiting), Some(0));
    assert_eq!(world.give_back(ann).await?, NOBODY_WAITS);
    world.take(ann.neighbor(3)).await?;
    Ok(())
}

/// A process whose next task waits is seen to wait by the one that gets the lock.
pub async fn release_can_keep_its_process_waiting<L: LockSteps>(world: &World<L>) -> Result<()> {
    let (ann, bob) = (Party::new(1), Party::new(2));
    world.take(ann).await?;
    world.taken_for(&bob.waiting_call()).await?;
    let call = Release { owner: ann.owner, process: ann.process, waits: true };
    let released = world.locks.release(&world.name, call).await?;
    assert_eq!(released, Released::Released { others_waiting: 1 }, "it does not count itself");
    world.take(bob).await?;
    assert_eq!(world.give_back(bob).await?, Released::Released { others_waiting: 1 });
    assert!(matches!(world.ask(&bob.neighbor(3).call()).await?, Acquired::Taken { free_in_ms: 20 }));
    Ok(())
}
