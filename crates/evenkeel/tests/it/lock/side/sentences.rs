//! Documented guarantees that no other test covers.

use super::holds::{is_free, take};
use super::rig::{Rig, TTL, until};
use evenkeel::lock::LockError;
use std::time::Duration;

on_both! {
    lock_many_waits_once_for_all_names
    released_lock_is_free_at_once
}

/// For a caller that acquires the lock again at once; a drop guarantees it in memory only.
// shows: lock::Guard, lock::Guards
async fn released_lock_is_free_at_once(rig: Rig) {
    let keel = rig.process().await;
    for _ in 0..20 {
        take(&keel).await.release().await.unwrap();
        assert!(keel.lock("stock/42").try_acquire().await.unwrap().is_some());
        until(async || is_free(&keel).await).await;
        keel.semaphore("exports", 1).acquire().await.unwrap().release().await.unwrap();
        let permit = keel.semaphore("exports", 1).take(1).try_acquire().await.unwrap();
        permit.unwrap().release().await.unwrap();
        if keel.link().is_none() {
            drop(take(&keel).await);
            drop(keel.lock("stock/42").try_acquire().await.unwrap().unwrap());
        }
    }
}

/// With a wait for each name, a call over ten names takes ten times as long as its caller configured.
// shows: lock::Keel::lock_many, lock::StripedLock::lock_many, lock::Guards::release
async fn lock_many_waits_once_for_all_names(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let first = one.lock("a").ttl(TTL).acquire().await.unwrap();
    let _second = one.lock("b").ttl(TTL).acquire().await.unwrap();
    let waiter = tokio::spawn(async move {
        two.lock_many(&["a", "b"], |lock| lock.ttl(TTL).wait(Duration::from_secs(10))).await.map(drop)
    });
    rig.pass(Duration::from_secs(6)).await;
    first.release().await.unwrap();
    rig.pass(Duration::from_secs(5)).await;
    // Time is frozen from here on: a second wait would not end.
    let refused = waiter.await.unwrap();
    assert!(matches!(refused, Err(LockError::Busy { ref name, .. }) if name == "b"), "{refused:?}");
}
