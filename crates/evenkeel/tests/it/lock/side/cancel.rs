//! Futures that are dropped at their k-th poll, for every k: nothing is left beyond a lease, and nothing is renewed.

use super::holds::{is_free, take};
use super::rig::{Rig, TTL, until};
use evenkeel::Keel;
use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

on_both! {
    dropped_acquire_leaves_nothing
    dropped_waiting_acquire_leaves_nothing
    dropped_release_completes
    dropped_run_keeps_the_guard
    futures_drop_without_a_runtime
    guard_dropped_during_renewal_is_released
}

/// Polls `future` whenever it was woken, at most `polls` times; `None` if it was not ready by then. It is dropped then.
pub(in crate::lock) async fn polled<F: Future>(future: F, polls: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    std::future::poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            // After the last poll it is dropped at once: whatever it has sent is still on its way.
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// (L6) `timeout(lock.acquire())`, dropped after the command had reached the server, left the lock behind until its ttl.
// shows: K5, KR1, KA1, hazard L6, lock::LockBuilder::acquire, lock::ExclusiveLocks::acquire
async fn dropped_acquire_leaves_nothing(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    for polls in 0.. {
        let acquired = polled(one.lock("stock/42").ttl(TTL).acquire(), polls).await;
        let was_done = acquired.is_some();
        drop(acquired);
        // Time is frozen: no lease expires.
        until(async || is_free(&two).await).await;
        still_free(&two).await;
        if was_done {
            return;
        }
    }
}

// shows: K5, KA1, lock::LockBuilder::acquire, lock::ExclusiveLocks::acquire
async fn dropped_waiting_acquire_leaves_nothing(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    for polls in 0.. {
        // No caller waits any more for the one that was dropped in the last round.
        rig.advance(Duration::from_secs(3)).await;
        let guard = take(&two).await;
        let waited = polled(one.lock("stock/42").ttl(TTL).wait(Duration::from_secs(60)).acquire(), polls);
        let release = async {
            tokio::task::yield_now().await;
            guard.release().await.unwrap();
        };
        let (waited, ()) = tokio::join!(waited, release);
        let was_done = waited.is_some();
        drop(waited);
        until(async || is_free(&two).await).await;
        still_free(&two).await;
        if was_done {
            return;
        }
    }
}

// shows: K5, KR1, lock::ExclusiveLocks, lock::Guard::release, lock::ExclusiveGuard::release, lock::Permits::release
// shows: lock::AdvisoryGuard::release
async fn dropped_release_completes(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    for polls in 0.. {
        let guard = take(&one).await;
        let released = polled(guard.release(), polls).await;
        until(async || is_free(&two).await).await;
        still_free(&two).await;
        if released.is_some() {
            return;
        }
    }
}

/// What `run` runs is dropped with it; the guard stays, and holds.
// shows: lock::Guard::run, lock::Permits::run, lock::ExclusiveGuard::run, lock::AdvisoryGuard::run
async fn dropped_run_keeps_the_guard(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let guard = take(&one).await;
    // Nothing would wake it for a third time: time is frozen.
    for polls in 0..=1 {
        assert!(polled(guard.run(std::future::pending::<()>()), polls).await.is_none());
    }
    assert!(!guard.is_lost() && !is_free(&two).await);
    rig.pass(TTL * 2).await;
    assert!(!guard.is_lost());
}

/// (L7) A future that was dropped outside of the runtime panicked or blocked, because its drop had to send a command.
// shows: K5
async fn futures_drop_without_a_runtime(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    for polls in 0.. {
        let mut acquire = Box::pin(one.lock("stock/42").ttl(TTL).acquire());
        let acquired = polled(&mut acquire, polls).await;
        let was_done = acquired.is_some();
        std::thread::spawn(move || drop((acquire, acquired))).join().unwrap();
        until(async || is_free(&two).await).await;
        let mut release = Box::pin(take(&one).await.release());
        let released = polled(&mut release, polls).await;
        std::thread::spawn(move || drop(release)).join().unwrap();
        until(async || is_free(&two).await).await;
        still_free(&two).await;
        if was_done && released.is_some() {
            return;
        }
    }
}

/// (L1) In some order of the two, a renewal followed the release and held a lock without a holder.
// shows: K5
async fn guard_dropped_during_renewal_is_released(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    for steps in 0..12 {
        let guard = take(&one).await;
        rig.advance(TTL / 3).await;
        for _ in 0..steps {
            tokio::task::yield_now().await;
        }
        drop(guard);
        until(async || is_free(&two).await).await;
        still_free(&two).await;
    }
}

/// All requests in flight have arrived by now, and have not acquired the lock.
async fn still_free(keel: &Keel) {
    for _ in 0..5 {
        assert!(is_free(keel).await, "it was taken once more");
        tokio::task::yield_now().await;
    }
}
