//! Holding a lock: renewal, loss, limits.

use super::rig::{Rig, TTL, is_ready, until};
use evenkeel::Keel;
use evenkeel::lock::{Guard, LossReason, Lost, ReleaseOutcome};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

on_both! {
    guard_holds_and_releases
    fences_rise
    guard_is_renewed_while_held
    paused_holder_detects_lost_lock_on_resume
    lost_guard_stays_lost
    future_is_not_polled_after_the_lease_expired
    broken_lock_is_noticed_at_the_next_renewal
    guard_ends_at_max_hold
    lock_delay_blocks_others_after_a_pause
    dropped_guard_releases
    guard_drop_needs_no_runtime
    inspect_returns_the_held_lock
}

pub(super) async fn take(keel: &Keel) -> Guard {
    keel.lock("stock/42").ttl(TTL).acquire().await.unwrap()
}

pub(super) async fn is_free(keel: &Keel) -> bool {
    keel.lock("stock/42").inspect().await.unwrap().is_none()
}

async fn guard_holds_and_releases(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let guard = take(&one).await;
    assert_eq!((guard.name().as_str(), guard.remaining()), ("stock/42", TTL));
    assert!(two.lock("stock/42").try_acquire().await.unwrap().is_none());
    assert!(one.lock("stock/42").try_acquire().await.unwrap().is_none());
    assert!(two.lock("stock/43").try_acquire().await.unwrap().is_some());
    assert_eq!(guard.release().await.unwrap(), ReleaseOutcome::Released);
    assert!(two.lock("stock/42").try_acquire().await.unwrap().is_some());
}

// shows: K2
async fn fences_rise(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let mut last = None;
    for _ in 0..3 {
        for keel in [&one, &two] {
            let guard = take(keel).await;
            assert!(Some(guard.fence()) > last);
            last = Some(guard.fence());
            guard.release().await.unwrap();
        }
    }
}

// shows: K4, hazard L8
async fn guard_is_renewed_while_held(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let guard = take(&one).await;
    for _ in 0..4 {
        rig.pass(TTL / 2).await;
        assert!(!guard.is_lost());
    }
    until(async || guard.remaining() > TTL / 2).await;
    assert!(two.lock("stock/42").try_acquire().await.unwrap().is_none());
    assert_eq!(guard.release().await.unwrap(), ReleaseOutcome::Released);
}

/// (L3) Timers stop while a process is stopped or a machine sleeps: the holder resumed and continued with an expired lease.
// shows: K3, hazard L3, lock::Guard
async fn paused_holder_detects_lost_lock_on_resume(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let guard = take(&one).await;
    rig.advance(TTL - Duration::from_millis(1)).await;
    assert!(!guard.is_lost());
    rig.advance(Duration::from_millis(1)).await;
    let other = two.lock("stock/42").try_acquire().await.unwrap();
    // Its renewal may have come first, after the pause; then it holds the lock still.
    if let Some(other) = other {
        let lost = guard.lost().await;
        assert!(matches!(lost.reason, LossReason::Expired | LossReason::Gone));
        assert!(guard.is_lost() && guard.remaining().is_zero() && other.fence() > guard.fence());
        assert_eq!(guard.release().await.unwrap(), ReleaseOutcome::AlreadyLost);
        assert!(!other.is_lost());
    }
    let guard = one.lock("stock/43").ttl(TTL).acquire().await.unwrap();
    // Longer than its lease, in one leap.
    rig.advance(TTL + TTL).await;
    assert_eq!(guard.lost().await, Lost { reason: LossReason::Expired });
    assert!(two.lock("stock/43").try_acquire().await.unwrap().is_some());
}

/// (L2) A failed renewal marked the lock as lost, and a later one that succeeded removed the mark: an unnoticed gap.
// shows: K3, hazard L2, lock::Guard
async fn lost_guard_stays_lost(rig: Rig) {
    let one = rig.process().await;
    let guard = take(&one).await;
    rig.advance(TTL + TTL).await;
    assert!(guard.is_lost());
    let again = take(&one).await;
    rig.pass(TTL).await;
    assert!(guard.is_lost() && !again.is_lost());
    assert_eq!(guard.lost().await, guard.lost().await);
}

/// The future of a stopped process was polled for as long as it was ready, and looked at the clock after that.
// shows: K3, lock::Guard::run, lock::Permits::run, lock::ExclusiveGuard::run, lock::AdvisoryGuard::run
async fn future_is_not_polled_after_the_lease_expired(rig: Rig) {
    let guard = take(&rig.process().await).await;
    let polls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&polls);
    {
        let mut running = Box::pin(guard.run(std::future::poll_fn(move |_| {
            count.fetch_add(1, SeqCst);
            std::task::Poll::<()>::Pending
        })));
        assert!(!is_ready(running.as_mut()));
        assert_eq!(polls.load(SeqCst), 1);
        rig.advance(TTL + TTL).await;
        assert_eq!(running.await, Err(Lost { reason: LossReason::Expired }));
    }
    assert_eq!(polls.load(SeqCst), 1);
    assert_eq!(take(&rig.process().await).await.run(async { 7 }).await, Ok(7));
}

// shows: K3, lock::LockBuilder::inspect, lock::LockBuilder::break_lock, lock::Keel::locks_held
async fn broken_lock_is_noticed_at_the_next_renewal(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let guard = take(&one).await;
    let broken = two.lock("stock/42").break_lock(Some(guard.fence())).await.unwrap();
    assert_eq!(broken.map(|holder| holder.fence), Some(guard.fence()));
    let other = take(&two).await;
    let lost = rig.while_time_passes(guard.lost()).await;
    assert_eq!(lost.reason, LossReason::Gone);
    assert!(!other.is_lost());
}

/// (L7) A leaked guard was renewed until its process ended.
// shows: K4, hazard L7
async fn guard_ends_at_max_hold(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let guard = one.lock("stock/42").ttl(TTL).max_hold(TTL * 2).acquire().await.unwrap();
    rig.pass(TTL).await;
    assert!(!guard.is_lost());
    rig.while_time_passes(guard.expiring_soon()).await;
    assert!(!guard.is_lost(), "the guard detects the loss before");
    let lost = rig.while_time_passes(guard.lost()).await;
    assert_eq!(lost.reason, LossReason::Expired);
    assert!(two.lock("stock/42").try_acquire().await.unwrap().is_some());
}

async fn lock_delay_blocks_others_after_a_pause(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let guard = one.lock("stock/42").ttl(TTL).lock_delay(TTL).acquire().await.unwrap();
    rig.advance(TTL + Duration::from_secs(1)).await;
    assert!(guard.is_lost());
    drop(guard);
    assert!(two.lock("stock/42").try_acquire().await.unwrap().is_none());
    rig.advance(TTL).await;
    assert!(two.lock("stock/42").try_acquire().await.unwrap().is_some());
}

// shows: K5
async fn dropped_guard_releases(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    drop(take(&one).await);
    until(async || is_free(&two).await).await;
}

/// (L7) A guard that was dropped outside of the runtime panicked or blocked, because its drop had to send a command.
// shows: K5, hazard L7
async fn guard_drop_needs_no_runtime(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let guard = take(&one).await;
    std::thread::spawn(move || drop(guard)).join().unwrap();
    one.shutdown(Duration::from_secs(10)).await;
    assert!(is_free(&two).await, "a shutdown waits for the releases");
}

// shows: lock::LockBuilder::inspect, lock::LockBuilder::break_lock, lock::Keel::locks_held
async fn inspect_returns_the_held_lock(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let guard = one.lock("}a%[*?]").metadata("counter 7").acquire().await.unwrap();
    let _other = take(&one).await;
    let names: Vec<String> = two.locks_held().await.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["stock/42", "}a%[*?]"]);
    let holder = two.lock("}a%[*?]").inspect().await.unwrap().unwrap();
    assert_eq!((holder.fence, &holder.metadata[..]), (guard.fence(), &b"counter 7"[..]));
}
