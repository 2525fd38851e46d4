//! User code under a lock over several servers panics, hangs, is dropped or leaked, or blocks its thread: the lock is released on every
//! server, or expires there, and the next holder gets it.

use super::fleet::{Fleet, NAME, TTL, is_free_everywhere, take};
use crate::lock::side::rig::until;
use evenkeel::lock::{LossReason, Lost, ReleaseOutcome};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

on_both! {
    panic_under_a_lock_frees_every_server
    aborted_task_frees_every_server
    endless_work_is_dropped_when_the_lock_is_lost
    work_with_panicking_drop_is_dropped_on_lock_loss
    leaked_guard_ends_at_max_hold
    guard_in_a_blocked_thread_is_lost
}

// shows: hazard AL13
async fn panic_under_a_lock_frees_every_server(fleet: Fleet) {
    let (one, two) = (fleet.process().await, fleet.process().await);
    let guard = take(&one).await;
    let task = tokio::spawn(async move { guard.run(async { panic!("the work panics") }).await });
    assert!(task.await.unwrap_err().is_panic(), "it is the caller's");
    until(async || is_free_everywhere(&two).await).await;
    // The guard may also be held by code that panics outside of `run`.
    let guard = take(&one).await;
    let task = tokio::spawn(async move {
        let _held = guard;
        panic!("the task panics")
    });
    assert!(task.await.unwrap_err().is_panic());
    until(async || is_free_everywhere(&two).await).await;
    assert_eq!(take(&two).await.release().await.unwrap(), ReleaseOutcome::Released);
}

// shows: hazard AL13
async fn aborted_task_frees_every_server(fleet: Fleet) {
    let (one, two) = (fleet.process().await, fleet.process().await);
    let (locks, held) = (one.clone(), Arc::new(Notify::new()));
    let is_held = Arc::clone(&held);
    let task = tokio::spawn(async move {
        let guard = take(&locks).await;
        is_held.notify_one();
        guard.run(std::future::pending::<()>()).await
    });
    held.notified().await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    until(async || is_free_everywhere(&two).await).await;
}

// shows: hazard AL13
async fn endless_work_is_dropped_when_the_lock_is_lost(fleet: Fleet) {
    let (one, two) = (fleet.process().await, fleet.process().await);
    let guard = one.lock(NAME).ttl(TTL).max_hold(2 * TTL).acquire().await.unwrap();
    let held = Arc::new(Notify::new());
    let work = Arc::clone(&held);
    let run = guard.run(async move { work.notified().await });
    let lost = fleet.while_time_passes(Box::pin(run)).await;
    assert_eq!(lost, Err(Lost { reason: LossReason::Expired }));
    assert_eq!(Arc::strong_count(&held), 1, "the work is dropped");
    let next = fleet.while_time_passes(Box::pin(two.lock(NAME).ttl(TTL).wait(5 * TTL).acquire())).await;
    assert!(!next.unwrap().is_lost());
}

/// Panics when it is dropped.
struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("the drop of the work panics");
        }
    }
}

// shows: hazard AL13
async fn work_with_panicking_drop_is_dropped_on_lock_loss(fleet: Fleet) {
    let (one, two) = (fleet.process().await, fleet.process().await);
    let guard = take(&one).await;
    let task = tokio::spawn(async move {
        let work = async {
            let _held = PanicsWhenDropped;
            std::future::pending::<()>().await;
        };
        guard.run(work).await
    });
    tokio::task::yield_now().await;
    two.lock(NAME).break_lock(None).await.unwrap();
    let next = fleet.while_time_passes(Box::pin(take(&two))).await;
    let ended = fleet.while_time_passes(task).await;
    assert!(ended.unwrap_err().is_panic());
    assert!(!next.is_lost());
}

// shows: hazard AL13
async fn leaked_guard_ends_at_max_hold(fleet: Fleet) {
    let (one, two) = (fleet.process().await, fleet.process().await);
    std::mem::forget(one.lock(NAME).ttl(TTL).max_hold(2 * TTL).acquire().await.unwrap());
    assert!(two.lock(NAME).ttl(TTL).try_acquire().await.unwrap().is_none());
    let next = fleet.while_time_passes(Box::pin(two.lock(NAME).ttl(TTL).wait(5 * TTL).acquire())).await;
    assert!(next.is_ok());
}

/// A thread that sleeps polls nothing; it detects the loss at its next check.
// shows: hazard AL13
async fn guard_in_a_blocked_thread_is_lost(fleet: Fleet) {
    let (one, two) = (fleet.process().await, fleet.process().await);
    let guard = one.lock(NAME).ttl(TTL).max_hold(2 * TTL).acquire().await.unwrap();
    let (go_on, blocked) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        blocked.recv().unwrap();
        (guard.is_lost(), guard.remaining())
    });
    let next = fleet.while_time_passes(Box::pin(two.lock(NAME).ttl(TTL).wait(5 * TTL).acquire())).await;
    go_on.send(()).unwrap();
    assert_eq!(thread.join().unwrap(), (true, Duration::ZERO));
    assert!(!next.unwrap().is_lost());
}
