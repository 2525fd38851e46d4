//! Futures that are dropped at their k-th poll, for every k: no server keeps anything, and nothing is renewed.

use super::fleet::{Fleet, NAME, TTL, is_free_everywhere, take};
use crate::lock::side::cancel::polled;
use crate::lock::side::rig::until;
use std::time::Duration;

on_both! {
    an_acquire_that_is_dropped_leaves_nothing
    an_acquire_that_is_dropped_while_others_hold_leaves_nothing
    a_release_that_is_dropped_is_done_nevertheless
    nothing_needs_a_runtime_to_be_dropped
    a_guard_that_is_dropped_at_any_point_of_its_renewal_is_given_back
}

async fn an_acquire_that_is_dropped_leaves_nothing(fleet: Fleet) {
    let (one, two) = (fleet.process().await, fleet.process().await);
    for polls in 0.. {
        let acquired = polled(one.lock(NAME).ttl(TTL).acquire(), polls).await;
        let was_done = acquired.is_some();
        drop(acquired);
        // Time stands still: no lease ends by itself.
        until(async || is_free_everywhere(&two).await).await;
        if was_done {
            break;
        }
    }
    one.shutdown(Duration::from_secs(10)).await;
    assert!(is_free_everywhere(&two).await, "whatever was on its way has arrived");
}

async fn an_acquire_that_is_dropped_while_others_hold_leaves_nothing(fleet: Fleet) {
    let (one, two) = (fleet.process().await, fleet.process().await);
    for polls in 0.. {
        // Nobody waits any more for the one that went away in the last round.
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

async fn a_release_that_is_dropped_is_done_nevertheless(fleet: Fleet) {
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

/// (L7) A future that was dropped outside of the runtime panicked, or blocked it: it had to send something.
async fn nothing_needs_a_runtime_to_be_dropped(fleet: Fleet) {
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
async fn a_guard_that_is_dropped_at_any_point_of_its_renewal_is_given_back(fleet: Fleet) {
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
