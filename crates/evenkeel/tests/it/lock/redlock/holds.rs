//! Holding a lock on a majority, with the same guard as other locks.

use super::fleet::{DRIFT, Fleet, NAME, TTL, TTL_MAX, held_on, is_free_everywhere, take};
use crate::lock::side::rig::until;
use evenkeel::lock::{LockError, LossReason, Redlock, ReleaseOutcome, Wait};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

on_both! {
    one_holder_at_a_time_with_rising_fences
    lease_is_shortened_by_the_clock_drift
    guard_is_renewed_while_held
    paused_holder_detects_lost_lock
    broken_lock_is_noticed_at_the_next_renewal
    guard_ends_at_max_hold
    guard_drop_needs_no_runtime
    release_wakes_another_process
    acquire_reports_the_timeout_of_its_wait
    inspect_returns_the_holder
    split_vote_is_resolved
    ttl_above_ttl_max_is_rejected
}

// shows: K2, lock::Redlock
async fn one_holder_at_a_time_with_rising_fences(fleet: Fleet) {
    let (one, two) = (fleet.process().await, fleet.process().await);
    let mut last = None;
    for _ in 0..3 {
        for (this, other) in [(&one, &two), (&two, &one)] {
            let guard = take(this).await;
            assert!(Some(guard.fence()) > last);
            last = Some(guard.fence());
            assert!(other.lock(NAME).ttl(TTL).try_acquire().await.unwrap().is_none());
            assert_eq!(guard.release().await.unwrap(), ReleaseOutcome::Released);
        }
    }
    until(async || is_free_everywhere(&one).await).await;
}

/// A server whose clock is fast ends the lease before its holder does.
// shows: K3, lock::Redlock
async fn lease_is_shortened_by_the_clock_drift(fleet: Fleet) {
    let guard = take(&fleet.process().await).await;
    assert_eq!(guard.remaining(), TTL - DRIFT);
    fleet.advance(TTL - DRIFT).await;
    assert!(guard.is_lost());
}

// shows: K4, hazard L8
async fn guard_is_renewed_while_held(fleet: Fleet) {
    let (one, two) = (fleet.process().await, fleet.process().await);
    let guard = take(&one).await;
    for _ in 0..4 {
        fleet.pass(TTL / 2).await;
        assert!(!guard.is_lost());
    }
    assert!(two.lock(NAME).ttl(TTL).try_acquire().await.unwrap().is_none());
    assert_eq!(guard.release().await.unwrap(), ReleaseOutcome::Released);
}

// shows: K3
async fn paused_holder_detects_lost_lock(fleet: Fleet) {
    let (one, two) = (fleet.process().await, fleet.process().await);
    let guard = take(&one).await;
    // Longer than its lease, in one leap.
    fleet.advance(TTL + TTL).await;
    assert_eq!(guard.lost().await.reason, LossReason::Expired);
    let other = take(&two).await;
    assert!(other.fence() > guard.fence());
    assert_eq!(guard.release().await.unwrap(), ReleaseOutcome::AlreadyLost);
    assert!(!other.is_lost() && !is_free_everywhere(&two).await);
}

// shows: K3, lock::LockBuilder::inspect, lock::LockBuilder::break_lock, lock::Keel::locks_held
async fn broken_lock_is_noticed_at_the_next_renewal(fleet: Fleet) {
    let (one, two) = (fleet.process().await, fleet.process().await);
    let guard = take(&one).await;
    assert_eq!(two.lock(NAME).break_lock(Some(evenkeel::lock::Fence(1))).await.unwrap(), None);
    let broken = two.lock(NAME).break_lock(None).await.unwrap();
    assert!(broken.is_some_and(|holder| holder.fence >= guard.fence()));
    let other = take(&two).await;
    assert_eq!(fleet.while_time_passes(guard.lost()).await.reason, LossReason::Gone);
    assert!(!other.is_lost());
}

// shows: K4, hazard L7
async fn guard_ends_at_max_hold(fleet: Fleet) {
    let (one, two) = (fleet.process().await, fleet.process().await);
    let guard = one.lock(NAME).ttl(TTL).max_hold(TTL * 2).acquire().await.unwrap();
    fleet.pass(TTL).await;
    assert!(!guard.is_lost());
    assert_eq!(fleet.while_time_passes(guard.lost()).await.reason, LossReason::Expired);
    // Its own deadline is a little earlier than the servers'.
    fleet.pass(DRIFT * 2).await;
    assert!(two.lock(NAME).ttl(TTL).try_acquire().await.unwrap().is_some());
}

// shows: K5, hazard L7
async fn guard_drop_needs_no_runtime(fleet: Fleet) {
    let (one, two) = (fleet.process().await, fleet.process().await);
    let guard = take(&one).await;
    std::thread::spawn(move || drop(guard)).join().unwrap();
    one.shutdown(Duration::from_secs(10)).await;
    assert!(is_free_everywhere(&two).await, "a shutdown waits for the releases");
}

/// Time is frozen here: only messages can wake a waiter.
// shows: K6
async fn release_wakes_another_process(fleet: Fleet) {
    let (one, two) = (fleet.process().await, fleet.process().await);
    let guard = take(&one).await;
    let lock = two.lock(NAME).ttl(TTL).wait(Wait::Forever);
    let waiting = tokio::spawn(async move { lock.acquire().await.unwrap().release().await.unwrap() });
    until(async || one.lock(NAME).inspect().await.unwrap().is_some_and(|holder| holder.waiting == 1)).await;
    // The waiter has subscribed and waits by now, or is about to poll once more.
    for _ in 0..200 {
        held_on(&one).await;
    }
    guard.release().await.unwrap();
    assert_eq!(waiting.await.unwrap(), ReleaseOutcome::Released);
}

async fn acquire_reports_the_timeout_of_its_wait(fleet: Fleet) {
    let (one, two) = (fleet.process().await, fleet.process().await);
    let guard = take(&one).await;
    let busy = fleet.while_time_passes(Box::pin(two.lock(NAME).wait(Duration::from_secs(3)).acquire())).await;
    assert!(matches!(busy, Err(LockError::Busy { .. })), "{busy:?}");
    assert!(!guard.is_lost());
}

// shows: lock::Redlock::locks_held
async fn inspect_returns_the_holder(fleet: Fleet) {
    let (one, two) = (fleet.process().await, fleet.process().await);
    let guard = one.lock(NAME).ttl(TTL).metadata("counter 7").acquire().await.unwrap();
    let holder = two.lock(NAME).inspect().await.unwrap().unwrap();
    assert_eq!((&holder.metadata[..], holder.fence >= guard.fence()), (&b"counter 7"[..], true));
    let names: Vec<String> = two.locks_held().await.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(names, [NAME]);
    guard.release().await.unwrap();
    assert_eq!(two.lock(NAME).inspect().await.unwrap(), None);
}

/// Contenders that each got some servers, released them and retried at once did so forever.
// shows: K6
async fn split_vote_is_resolved(fleet: Fleet) {
    let inside = Arc::new(AtomicUsize::new(0));
    let mut tasks = Vec::new();
    for _ in 0..4 {
        let redlock: Redlock = fleet.process().await;
        let inside = Arc::clone(&inside);
        tasks.push(tokio::spawn(async move {
            for _ in 0..3 {
                let guard = redlock.lock(NAME).ttl(TTL_MAX).wait(Wait::Forever).acquire().await.unwrap();
                assert_eq!(inside.fetch_add(1, SeqCst), 0, "one at a time");
                tokio::task::yield_now().await;
                inside.fetch_sub(1, SeqCst);
                guard.release().await.unwrap();
            }
        }));
    }
    let all = async {
        for task in tasks {
            task.await.unwrap();
        }
    };
    fleet.while_time_passes(Box::pin(all)).await;
}

/// A server that is excluded for less than a lease could grant a lock whose earlier holder still holds it.
async fn ttl_above_ttl_max_is_rejected(fleet: Fleet) {
    let refused = fleet.process().await.lock(NAME).ttl(TTL_MAX + Duration::from_millis(1)).acquire().await;
    assert!(matches!(refused, Err(LockError::Invalid(_))), "{refused:?}");
}

// shows: lock::Redlock::connect, lock::RedlockBuilder::connect, lock::RedlockBuilder::connect_with
// shows: lock::Redlock::memory, lock::RedlockBuilder::memory, lock::Redlock::connect_lazy
// shows: lock::RedlockBuilder::connect_lazy
#[test]
fn redlock_requires_three_to_fifteen_servers() {
    assert!(matches!(Redlock::memory(2), Err(LockError::Invalid(_))));
    assert!(matches!(Redlock::memory(16), Err(LockError::Invalid(_))));
    assert!(Redlock::memory(5).is_ok());
}
