//! Giving a lock back, and whose turn it is then.

use super::rig::{LEASE_MS, Party, Rig};
use anyhow::Result;
use evenkeel_protocol::lock::steps::{Acquire, Acquired, LockSteps, Release, Released};

const NO_WAITERS: Released = Released::Released { others_waiting: 0 };

/// A repeated release finds no lock, and reports that.
// shows: K5, hazard L13, spec/lock.md
pub async fn repeated_release_finds_nothing<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let ann = Party::new(1);
    rig.take(ann).await?;
    assert_eq!(rig.give_back(ann).await?, NO_WAITERS);
    assert_eq!(rig.give_back(ann).await?, Released::Nothing);
    assert_eq!(rig.owner().await?, None);
    rig.take(Party::new(2)).await?;
    Ok(())
}

/// A holder stopped past its lease deleted the lock of the next one (the classical recipe without a check of the owner).
// shows: KR1
pub async fn late_release_does_not_free_the_next_holder<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let (ann, bob) = (Party::new(1), Party::new(2));
    rig.take(ann).await?;
    rig.time.advance(LEASE_MS).await?;
    rig.take(bob).await?;
    assert_eq!(rig.give_back(ann).await?, Released::Lost);
    assert_eq!(rig.owner().await?, Some(bob.owner));
    Ok(())
}

/// The release of a holder that came too late must not end the time in which it is waited for.
// shows: hazard L12, spec/lock.md
pub async fn late_release_does_not_end_the_lock_delay<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let ann = Party::new(1);
    rig.take_with(&Acquire { cooling_ms: 5_000, ..ann.call() }).await?;
    rig.time.advance(LEASE_MS).await?;
    assert_eq!(rig.give_back(ann).await?, Released::Lost);
    assert_eq!(rig.taken_for(&Party::new(2).call()).await?, 5_000);
    Ok(())
}

/// A release, unlike an expiry, says that its holder has stopped.
// shows: spec/lock.md
pub async fn release_starts_no_lock_delay<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let ann = Party::new(1);
    rig.take_with(&Acquire { cooling_ms: 5_000, ..ann.call() }).await?;
    assert_eq!(rig.give_back(ann).await?, NO_WAITERS);
    rig.take(Party::new(2)).await?;
    Ok(())
}

/// A busy process acquired the lock repeatedly, before the notified waiters ran.
// shows: K6, spec/lock.md
pub async fn releasing_process_yields_to_waiters<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let (ann, bob) = (Party::new(1), Party::new(2));
    rig.take(ann).await?;
    rig.taken_for(&bob.waiting_call()).await?;
    assert_eq!(rig.give_back(ann).await?, Released::Released { others_waiting: 1 });
    let next = ann.neighbor(3);
    assert_eq!(rig.taken_for(&next.waiting_call()).await?, 20, "the whole process waits, not this owner only");
    rig.take(bob).await?;
    assert_eq!(rig.give_back(bob).await?, Released::Released { others_waiting: 1 });
    rig.take(next).await?;
    Ok(())
}

/// No caller waits for a waiter that does not come.
// shows: hazard L11, spec/lock.md
pub async fn reserved_turn_expires<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let (ann, bob) = (Party::new(1), Party::new(2));
    rig.take(ann).await?;
    rig.taken_for(&bob.waiting_call()).await?;
    rig.give_back(ann).await?;
    rig.time.advance(20).await?;
    rig.take(ann.neighbor(3)).await?;
    assert_eq!(rig.taken_for(&bob.call()).await?, LEASE_MS);
    Ok(())
}

/// The longest waiter is called once. A process that died while it waited, or waits no more, would be called at every
/// release, and the others would have to poll.
// shows: K6
pub async fn called_waiter_that_stays_away_is_not_counted<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let (ann, bob, eve, dan) = (Party::new(1), Party::new(2), Party::new(3), Party::new(4));
    rig.take(ann).await?;
    rig.taken_for(&bob.waiting_call()).await?;
    rig.time.advance(1).await?;
    rig.taken_for(&eve.waiting_call()).await?;
    assert_eq!(rig.give_back(ann).await?, Released::Released { others_waiting: 2 });
    rig.time.advance(20).await?;
    rig.take(dan).await?;
    assert_eq!(rig.give_back(dan).await?, Released::Released { others_waiting: 1 }, "bob was called");
    Ok(())
}

/// Without waiters the lock is free at once, for every process.
// shows: spec/lock.md
pub async fn release_without_waiters_frees_the_lock_for_all<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let (ann, bob) = (Party::new(1), Party::new(2));
    rig.take(ann).await?;
    rig.taken_for(&bob.call()).await?;
    assert_eq!(rig.give_back(ann).await?, NO_WAITERS, "bob does not wait");
    rig.take(ann.neighbor(3)).await?;
    Ok(())
}

/// A process that died while it waited counts as a waiter for two seconds.
// shows: hazard L11
pub async fn silent_waiter_is_forgotten<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let (ann, bob) = (Party::new(1), Party::new(2));
    rig.take(ann).await?;
    rig.taken_for(&bob.waiting_call()).await?;
    rig.time.advance(1_999).await?;
    assert_eq!(rig.locks.inspect(&rig.name).await?.map(|holder| holder.waiting), Some(1));
    rig.time.advance(1).await?;
    assert_eq!(rig.locks.inspect(&rig.name).await?.map(|holder| holder.waiting), Some(0));
    assert_eq!(rig.give_back(ann).await?, NO_WAITERS);
    rig.take(ann.neighbor(3)).await?;
    Ok(())
}

/// A process whose next task waits is seen to wait by the one that gets the lock.
pub async fn release_can_keep_its_process_waiting<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let (ann, bob) = (Party::new(1), Party::new(2));
    rig.take(ann).await?;
    rig.taken_for(&bob.waiting_call()).await?;
    let call = Release { owner: ann.owner, process: ann.process, waits: true };
    let released = rig.locks.release(&rig.name, call).await?;
    assert_eq!(released, Released::Released { others_waiting: 1 }, "it does not count itself");
    rig.take(bob).await?;
    assert_eq!(rig.give_back(bob).await?, Released::Released { others_waiting: 1 });
    assert!(matches!(rig.ask(&bob.neighbor(3).call()).await?, Acquired::Taken { free_in_ms: 20 }));
    Ok(())
}
