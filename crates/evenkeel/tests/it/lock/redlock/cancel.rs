//! Futures that are dropped at their k-th poll, for every k: no server retains a lock, and no lease is renewed.

use super::fleet::{Fleet, NAME, TTL, is_free_everywhere, take};
use crate::lock::side::cancel::polled;
use crate::lock::side::rig::until;
use std::time::Duration;

on_both! {
    dropped_acquire_leaves_nothing
    dropped_acquire_of_a_held_lock_leaves_nothing
    dropped_release_completes
    futures_drop_without_a_runtime
    guard_dropped_during_renewal_is_released
}

// shows: K5, KR1, KA1, hazard L6, lock::LockBuilder::acquire, lock::ExclusiveLocks::acquire
async fn dropped_acquire_leaves_nothing(fleet: Fleet) {
    let (one, two) = (fleet.process().await, fleet.process().await);
    for polls in 0.. {
        let acquired = polled(one.lock(NAME).ttl(TTL).acquire(), polls).await;
        let was_done = acquired.is_some();
        drop(acquired);
        // Time is frozen: no lease expires.
        until(async || is_free_everywhere(&two).await).await;
        if was_done {
            break;
        }
    }
    one.shutdown(Duration::from_secs(10)).await;
    assert!(is_free_everywhere(&two).await, "whatever was on its way has arrived");
}

// shows: K5
async fn dropped_acquire_of_a_held_lock_leaves_nothing(fleet: Fleet) {
    let (one, two) = (fleet.process().await, fleet.process().await);
    for polls in 0.. {
        // No caller waits any more for the one that was dropped in the last round.
        fleet.advance(Duration::from_secs(3)).await;
        let guard = take(&two).await;
        let waited = polled(one.lock(NAME).ttl(TTL).wait(Duration::from_secs(60)).acquire(), polls);
        let release = async {
            tokio::task::yield_now().await;
            guard.release().await.unwrap();
        };
        let (waited, ()) = tokio::join!(waited, release);
        let was_done = waited.is_some();
        drop(waited);
        until(async || is_free_everywhere(&two).await).await;
        if was_done {
            return;
        }
    }
}

// shows: K5, KR1, lock::ExclusiveLocks, lock::Guard::release, lock::ExclusiveGuard::release, lock::Permits::release
// shows: lock::AdvisoryGuard::release
async fn dropped_release_completes(fleet: Fleet) {
    let (one, two) = (fleet.process().await, fleet.process().await);
    for polls in 0.. {
        let guard = take(&one).await;
        let released = polled(guard.release(), polls).await;
        until(async || is_free_everywhere(&two).await).await;
        if released.is_some() {
            return;
        }
    }
}

/// (L7) A future that was dropped outside of the runtime panicked or blocked, because its drop had to send a command.
// shows: K5
async fn futures_drop_without_a_runtime(fleet: Fleet) {
    let (one, two) = (fleet.process().await, fleet.process().await);
    for polls in 0.. {
        let mut acquire = Box::pin(one.lock(NAME).ttl(TTL).acquire());
        let acquired = polled(&mut acquire, polls).await;
        let was_done = acquired.is_some();
        std::thread::spawn(move || drop((acquire, acquired))).join().unwrap();
        until(async || is_free_everywhere(&two).await).await;
        let mut release = Box::pin(take(&one).await.release());
        let released = polled(&mut release, polls).await;
        std::thread::spawn(move || drop(release)).join().unwrap();
        until(async || is_free_everywhere(&two).await).await;
        if was_done && released.is_some() {
            return;
        }
    }
}

/// (L1) In some order of the two, a renewal followed the release and held a lock without a holder.
// shows: K5
async fn guard_dropped_during_renewal_is_released(fleet: Fleet) {
    let (one, two) = (fleet.process().await, fleet.process().await);
    for steps in 0..12 {
        let guard = take(&one).await;
        fleet.advance(TTL / 3).await;
        for _ in 0..steps {
            tokio::task::yield_now().await;
        }
        drop(guard);
        until(async || is_free_everywhere(&two).await).await;
    }
    one.shutdown(Duration::from_secs(10)).await;
    assert!(is_free_everywhere(&two).await, "whatever was on its way has arrived");
}
