//! Several locks at once, and striped ones.

use super::holds::{is_free, take};
use super::rig::{Rig, TTL, until};
use evenkeel::lock::{LockError, LossReason, ReleaseOutcome, Wait};
use std::collections::HashSet;
use std::time::Duration;

on_both! {
    several_locks_are_acquired_in_one_order
    several_locks_are_acquired_all_or_none
    loss_of_one_of_several_locks_is_reported
    key_maps_to_one_stripe
    keys_of_one_stripe_are_locked_once
    different_stripe_count_is_rejected
    stripe_count_is_changed_explicitly
}

/// Two callers that took the same two locks in opposite orders waited for each other forever.
// shows: hazard L14, lock::Keel::lock_many, lock::StripedLock::lock_many, lock::Guards::release
async fn several_locks_are_acquired_in_one_order(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let forever = |lock: evenkeel::lock::LockBuilder| lock.ttl(TTL).wait(Wait::Forever);
    let round = async |keel: &evenkeel::Keel, names: [&str; 3]| {
        for _ in 0..5 {
            let guards = keel.lock_many(&names, forever).await.unwrap();
            let names: Vec<&str> = guards.each().iter().map(|guard| guard.name().as_str()).collect();
            assert_eq!(names, ["a", "b", "c"]);
            tokio::task::yield_now().await;
            assert_eq!(guards.release().await.unwrap(), [ReleaseOutcome::Released; 3]);
        }
    };
    let both = async { tokio::join!(round(&one, ["a", "b", "c"]), round(&two, ["c", "a", "b"])) };
    rig.while_time_passes(Box::pin(both)).await;
}

// shows: hazard L14, lock::Keel::lock_many, lock::StripedLock::lock_many, lock::Guards::release
async fn several_locks_are_acquired_all_or_none(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let guard = one.lock("z").ttl(TTL).acquire().await.unwrap();
    let asked = two.lock_many(&["stock/42", "z", "stock/42"], |lock| lock.ttl(TTL).wait(Duration::from_secs(2)));
    let refused = rig.while_time_passes(Box::pin(asked)).await;
    assert!(matches!(refused, Err(LockError::Busy { ref name, .. }) if name == "z"), "{refused:?}");
    until(async || is_free(&one).await).await;
    guard.release().await.unwrap();
    assert_eq!(two.lock_many(&["stock/42", "z", "stock/42"], |lock| lock.ttl(TTL)).await.unwrap().each().len(), 2);
}

// shows: lock::Keel::lock_many, lock::StripedLock::lock_many, lock::Guards::release
async fn loss_of_one_of_several_locks_is_reported(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let guards = one.lock_many(&["a", "stock/42"], |lock| lock.ttl(TTL)).await.unwrap();
    two.lock("stock/42").break_lock(None).await.unwrap();
    let other = take(&two).await;
    assert_eq!(rig.while_time_passes(Box::pin(guards.lost())).await.reason, LossReason::Gone);
    assert_eq!(guards.release().await.unwrap(), [ReleaseOutcome::Released, ReleaseOutcome::AlreadyLost]);
    assert!(!other.is_lost());
}

// shows: hazard L15, lock::Keel::striped_lock, lock::StripedLock::acquire, lock::StripedLock::restripe
async fn key_maps_to_one_stripe(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let (here, there) = (one.striped_lock("stock", 16).unwrap(), two.striped_lock("stock", 16).unwrap());
    let keys: Vec<String> = (0..1_000).map(|number| format!("sku-{number}")).collect();
    let stripes: HashSet<u32> = keys.iter().map(|key| here.stripe(key.as_bytes())).collect();
    assert_eq!(stripes.len(), 16, "all are used");
    assert!(keys.iter().all(|key| here.stripe(key.as_bytes()) == there.stripe(key.as_bytes())));
    // Fixed permanently: programs of different versions exclude each other.
    assert_eq!([here.stripe(b"sku-0"), here.stripe(b"sku-1"), here.stripe(b"")], STRIPES);
    let guard = here.acquire(b"sku-7").await.unwrap();
    assert!(there.lock(b"sku-7").try_acquire().await.unwrap().is_none());
    drop(guard);
    assert!(one.striped_lock("stock", 0).is_err() && one.striped_lock("stock", 4_097).is_err());
    assert!(one.striped_lock("", 1).is_err());
}

const STRIPES: [u32; 3] = [13, 14, 1];

// shows: hazard L15
async fn keys_of_one_stripe_are_locked_once(rig: Rig) {
    let keel = rig.process().await;
    let stock = keel.striped_lock("stock", 2).unwrap();
    let keys: [&[u8]; 5] = [b"a", b"b", b"c", b"d", b"a"];
    let guards = stock.lock_many(&keys, |lock| lock.ttl(TTL)).await.unwrap();
    assert_eq!(guards.each().len(), 2, "none waits for itself");
    guards.release().await.unwrap();
}

/// Two versions of a program divided the keys differently, and did not keep each other out.
// shows: K10, lock::Keel::striped_lock, lock::StripedLock::acquire, lock::StripedLock::restripe
async fn different_stripe_count_is_rejected(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let (here, there) = (one.striped_lock("stock", 16).unwrap(), two.striped_lock("stock", 8).unwrap());
    drop(here.acquire(b"sku-7").await.unwrap());
    let refused = there.acquire(b"sku-7").await;
    assert!(matches!(refused, Err(LockError::Differs { asked: 8, stored: 16, .. })), "{refused:?}");
    let sentence = refused.unwrap_err().to_string();
    assert!(sentence.starts_with("the striped lock stock has 16 stripes, this program requests 8"), "{sentence}");
    assert!(there.lock(b"sku-7").try_acquire().await.is_err());
    assert!(there.lock_many(&[b"sku-7", b"sku-8"], |lock| lock.ttl(TTL)).await.is_err());
    drop(two.striped_lock("stock", 16).unwrap().acquire(b"sku-7").await.unwrap());
    drop(two.striped_lock("other", 8).unwrap().acquire(b"sku-7").await.unwrap());
}

// shows: K10, lock::Keel::striped_lock, lock::StripedLock::acquire, lock::StripedLock::restripe
async fn stripe_count_is_changed_explicitly(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let (here, there) = (one.striped_lock("stock", 16).unwrap(), two.striped_lock("stock", 8).unwrap());
    drop(here.acquire(b"sku-7").await.unwrap());
    there.restripe().await.unwrap();
    drop(there.acquire(b"sku-7").await.unwrap());
    rig.advance(Duration::from_secs(10)).await;
    assert!(matches!(here.acquire(b"sku-7").await, Err(LockError::Differs { asked: 16, stored: 8, .. })));
}
