//! Semaphores as a program sees them.

use crate::lock::side::cancel::polled;
use crate::lock::side::rig::{Rig, TTL, until};
use evenkeel::Keel;
use evenkeel::lock::{LockError, LossReason, Permits, PermitsBuilder, ReleaseOutcome, Wait};
use std::time::Duration;

on_both! {
    permits_held_never_exceed_their_number
    release_wakes_waiters_for_permits
    resize_wakes_waiters_for_permits
    permits_are_granted_first_come_first_served
    tasks_of_one_process_share_a_place
    different_permit_count_is_rejected
    permits_of_a_dead_process_expire
    permits_are_renewed_while_held
    broken_permits_are_lost
    dropped_acquire_of_permits_leaves_nothing
}

fn take(keel: &Keel, permits: u32) -> PermitsBuilder {
    keel.semaphore("desks", 3).take(permits).ttl(TTL)
}

async fn held(keel: &Keel) -> u32 {
    let found = keel.semaphore("desks", 3).inspect().await.unwrap();
    found.map_or(0, |state| state.holders.iter().map(|holder| holder.permits).sum())
}

/// After this each waiter has subscribed and waits, or is about to poll once more. Each process has one place in the queue.
async fn asleep(keel: &Keel, number: u64) {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    let waiting = async || keel.semaphore("desks", 3).inspect().await.unwrap().map_or(0, |state| state.waiting);
    until(async || waiting().await == number).await;
    for _ in 0..200 {
        waiting().await;
    }
}

// shows: lock::RwBuilder::try_acquire, lock::PermitsBuilder::try_acquire, lock::Semaphore::acquire
// shows: lock::PermitsBuilder::acquire
async fn permits_held_never_exceed_their_number(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let first = take(&one, 2).acquire().await.unwrap();
    let second = take(&two, 1).acquire().await.unwrap();
    assert_eq!((first.name().as_str(), first.count(), first.remaining()), ("desks", 2, TTL));
    assert!(take(&one, 1).try_acquire().await.unwrap().is_none());
    assert_eq!(second.release().await.unwrap(), ReleaseOutcome::Released);
    assert!(take(&one, 2).try_acquire().await.unwrap().is_none(), "all requested permits, or none");
    assert_eq!(take(&one, 1).try_acquire().await.unwrap().map(|permits| permits.count()), Some(1));
    drop(first);
    until(async || held(&two).await == 0).await;
    assert!(take(&two, 3).try_acquire().await.unwrap().is_some());
}

/// Time is frozen: only a message can wake a waiter.
// shows: K8
async fn release_wakes_waiters_for_permits(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let first = take(&one, 3).acquire().await.unwrap();
    let asked: Vec<_> =
        [&one, &two, &two].map(|keel| tokio::spawn(take(keel, 1).wait(Wait::Forever).acquire())).into_iter().collect();
    asleep(&one, 2).await;
    first.release().await.unwrap();
    let mut permits = Vec::new();
    for task in asked {
        permits.push(task.await.unwrap().unwrap());
    }
    assert_eq!(held(&one).await, 3);
}

/// Time is frozen: only a message can wake a waiter.
// shows: K10
async fn resize_wakes_waiters_for_permits(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let _first = take(&one, 3).acquire().await.unwrap();
    // By then the number has changed, and a caller with the old one gets an error.
    let asked = tokio::spawn(take(&two, 1).wait(Wait::Forever).acquire());
    asleep(&one, 1).await;
    one.semaphore("desks", 4).resize().await.unwrap();
    let refused = asked.await.unwrap();
    assert!(matches!(refused, Err(LockError::Differs { asked: 3, stored: 4, .. })), "{refused:?}");
    assert!(two.semaphore("desks", 4).take(1).try_acquire().await.unwrap().is_some());
}

/// In request order, in any process. Each holds all permits, so that no caller can overtake.
// shows: K8
async fn permits_are_granted_first_come_first_served(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let first = take(&one, 1).acquire().await.unwrap();
    let (granted, mut grants) = tokio::sync::mpsc::unbounded_channel();
    for (number, keel) in (1..).zip([&one, &two, &one, &two, &two, &one]) {
        let (asked, granted) = (take(keel, 3).wait(Wait::Forever).acquire(), granted.clone());
        tokio::spawn(async move { granted.send((number, asked.await.unwrap())) });
        asleep(&one, number.min(2)).await;
        rig.advance(Duration::from_millis(1)).await;
    }
    first.release().await.unwrap();
    let mut order = Vec::new();
    // Each holds the permits until the next task of its process has its place.
    for places in [2, 2, 2, 2, 1, 0] {
        let (number, permits) = grants.recv().await.unwrap();
        order.push(number);
        asleep(&one, places).await;
        permits.release().await.unwrap();
    }
    assert_eq!(order, [1, 2, 3, 4, 5, 6]);
}

/// Each of 1,500 tasks polled Redis once a second, and each poll read the places of all: most tasks got "no answer".
// shows: K8, hazard BL2
async fn tasks_of_one_process_share_a_place(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let first = take(&one, 3).acquire().await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let asked = take(&two, 1).wait(Wait::Forever).acquire();
        tasks.spawn(async move { asked.await.unwrap().release().await.unwrap() });
    }
    // A request for another number of permits does not wait behind these.
    let two_permits = tokio::spawn(take(&two, 2).wait(Wait::Forever).acquire());
    asleep(&one, 2).await;
    rig.pass(Duration::from_secs(5)).await;
    assert_eq!(one.semaphore("desks", 3).inspect().await.unwrap().map(|state| state.waiting), Some(2));
    assert!(take(&two, 1).try_acquire().await.unwrap().is_none(), "others of its process wait");
    first.release().await.unwrap();
    while let Some(task) = tasks.join_next().await {
        assert_eq!(task.unwrap(), ReleaseOutcome::Released);
    }
    assert_eq!(two_permits.await.unwrap().unwrap().count(), 2);
}

/// Regression: two versions of a program used different numbers of permits, and each granted permits up to its own number.
// shows: K10, lock::RwBuilder::try_acquire, lock::PermitsBuilder::try_acquire, lock::Semaphore::acquire
// shows: lock::PermitsBuilder::acquire
async fn different_permit_count_is_rejected(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let permits = take(&one, 1).acquire().await.unwrap();
    let larger = two.semaphore("desks", 4);
    let refused = larger.acquire().await;
    assert!(matches!(refused, Err(LockError::Differs { asked: 4, stored: 3, .. })), "{refused:?}");
    let sentence = refused.unwrap_err().to_string();
    assert!(sentence.starts_with("the semaphore desks has 3 permits, this program requests 4"), "{sentence}");
    larger.resize().await.unwrap();
    let others = larger.take(3).acquire().await.unwrap();
    assert!(matches!(one.semaphore("desks", 3).acquire().await, Err(LockError::Differs { stored: 4, .. })));
    assert!(!permits.is_lost());
    drop(others);
    assert!(one.semaphore("desks", 0).acquire().await.is_err() && one.semaphore("desks", 501).acquire().await.is_err());
}

/// (A counter) The permits of a dead process were gone forever.
async fn permits_of_a_dead_process_expire(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let permits = take(&one, 3).acquire().await.unwrap();
    let asked = tokio::spawn(take(&two, 1).wait(Wait::Forever).acquire());
    asleep(&one, 1).await;
    // It is paused: it renews nothing, and then all time has passed at once.
    rig.advance(TTL * 2).await;
    let next = rig.while_time_passes(asked).await.unwrap().unwrap();
    assert!(permits.is_lost() && !next.is_lost());
    assert_eq!(permits.release().await.unwrap(), ReleaseOutcome::AlreadyLost);
    assert_eq!(held(&two).await, 1, "and it gave back nothing of others");
}

async fn permits_are_renewed_while_held(rig: Rig) {
    let one = rig.process().await;
    let permits = take(&one, 2).acquire().await.unwrap();
    for _ in 0..4 {
        rig.pass(TTL / 2).await;
        assert!(!permits.is_lost());
    }
    assert_eq!(permits.run(async { 7 }).await, Ok(7));
    assert_eq!(held(&one).await, 2);
}

// shows: lock::RwLock::inspect, lock::RwLock::break_holds, lock::Semaphore::inspect, lock::Semaphore::break_holds
// shows: lock::Keel::rw_locks_known, lock::Keel::semaphores_known
async fn broken_permits_are_lost(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let permits = take(&one, 2).acquire().await.unwrap();
    let desks = two.semaphore("desks", 3);
    let seen = desks.inspect().await.unwrap().unwrap();
    assert_eq!(desks.break_holds(Some(seen.holders[0].owner)).await.unwrap(), seen.holders);
    let lost = rig.while_time_passes(Box::pin(permits.lost())).await;
    assert_eq!(lost.reason, LossReason::Gone);
    assert_eq!(rig.while_time_passes(Box::pin(permits.run(std::future::pending::<()>()))).await, Err(lost));
}

// shows: K7, lock::RwBuilder::acquire, lock::PermitsBuilder::acquire
async fn dropped_acquire_of_permits_leaves_nothing(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let is_idle =
        async |keel: &Keel| keel.semaphore("desks", 3).inspect().await.unwrap().is_none_or(|state| state.is_idle());
    for polls in 0.. {
        let first: Permits = take(&two, 2).acquire().await.unwrap();
        let asked = polled(take(&one, 2).wait(Duration::from_secs(60)).acquire(), polls);
        let release = async {
            tokio::task::yield_now().await;
            first.release().await.unwrap();
        };
        let (asked, ()) = tokio::join!(asked, release);
        let was_done = asked.is_some();
        drop(asked);
        // Time is frozen: neither a lease nor a place in the queue expires.
        until(async || is_idle(&two).await).await;
        for _ in 0..5 {
            assert!(is_idle(&two).await, "some were taken once more");
            tokio::task::yield_now().await;
        }
        if was_done {
            return;
        }
    }
}
