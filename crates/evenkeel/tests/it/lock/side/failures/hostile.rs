//! User code under a lock may panic, hang, be dropped or leaked: the lock is released or expires, and no other code is
//! affected.

use crate::lock::side::holds::{is_free, take};
use crate::lock::side::rig::{Rig, TTL, until};
use evenkeel::lock::{LossReason, Lost};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;
use tokio::sync::Notify;

on_both! {
    panic_under_a_lock_releases_the_lock
    panic_between_several_locks_releases_those_held
    work_with_panicking_drop_is_dropped_on_lock_loss
    endless_work_is_dropped_when_the_lock_is_lost
    leaked_guard_ends_at_max_hold
    aborted_task_releases_its_lock
    guard_in_a_blocked_thread_is_lost
}

// shows: hazard AL13
async fn panic_under_a_lock_releases_the_lock(rig: Rig) {
    let one = rig.process().await;
    let guard = take(&one).await;
    let task = tokio::spawn(async move { guard.run(async { panic!("the work panics") }).await });
    assert!(task.await.unwrap_err().is_panic());
    until(async || is_free(&one).await).await;
    let writer = one.rw_lock("prices").write().acquire().await.unwrap();
    let permits = one.semaphore("exports", 1).acquire().await.unwrap();
    let task = tokio::spawn(async move {
        let _held = writer;
        permits.run(async { panic!("the work panics") }).await
    });
    assert!(task.await.unwrap_err().is_panic());
    one.rw_lock("prices").write().acquire().await.unwrap().release().await.unwrap();
    one.semaphore("exports", 1).acquire().await.unwrap().release().await.unwrap();
}

// shows: hazard AL13
async fn panic_between_several_locks_releases_those_held(rig: Rig) {
    let one = rig.process().await;
    let two = one.clone();
    let task = tokio::spawn(async move {
        let called = AtomicU32::new(0);
        let with = |lock| {
            assert_eq!(called.fetch_add(1, SeqCst), 0, "the closure panics");
            lock
        };
        two.lock_many(&["a", "stock/42"], with).await.map(drop)
    });
    assert!(task.await.unwrap_err().is_panic());
    assert!(one.lock("a").acquire().await.is_ok() && one.lock("stock/42").acquire().await.is_ok());
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
async fn work_with_panicking_drop_is_dropped_on_lock_loss(rig: Rig) {
    let one = rig.process().await;
    let guard = take(&one).await;
    let task = tokio::spawn(async move {
        let work = async {
            let _held = PanicsWhenDropped;
            std::future::pending::<()>().await;
        };
        guard.run(work).await
    });
    tokio::task::yield_now().await;
    one.lock("stock/42").break_lock(None).await.unwrap();
    let next = rig.while_time_passes(Box::pin(take(&one))).await;
    let ended = rig.while_time_passes(task).await;
    assert!(ended.unwrap_err().is_panic());
    assert!(!next.is_lost());
}

// shows: hazard AL13
async fn endless_work_is_dropped_when_the_lock_is_lost(rig: Rig) {
    let one = rig.process().await;
    let guard = one.lock("stock/42").ttl(TTL).max_hold(2 * TTL).acquire().await.unwrap();
    let held = Arc::new(Notify::new());
    let work = Arc::clone(&held);
    let run = guard.run(async move { work.notified().await });
    let lost = rig.while_time_passes(Box::pin(run)).await;
    assert_eq!(lost, Err(Lost { reason: LossReason::Expired }));
    assert_eq!(Arc::strong_count(&held), 1, "the work is dropped");
    assert!(one.lock("stock/42").try_acquire().await.unwrap().is_some());
}

// shows: hazard AL13
async fn leaked_guard_ends_at_max_hold(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    std::mem::forget(one.lock("stock/42").ttl(TTL).max_hold(2 * TTL).acquire().await.unwrap());
    std::mem::forget(one.semaphore("exports", 1).take(1).ttl(TTL).max_hold(2 * TTL).acquire().await.unwrap());
    assert!(two.lock("stock/42").try_acquire().await.unwrap().is_none());
    let (lock, semaphore) = (two.lock("stock/42").wait(5 * TTL), two.semaphore("exports", 1));
    let both = async { tokio::join!(lock.acquire(), semaphore.take(1).wait(5 * TTL).acquire()) };
    let (lock, permits) = rig.while_time_passes(Box::pin(both)).await;
    assert!(lock.is_ok() && permits.is_ok());
}

// shows: hazard AL13
async fn aborted_task_releases_its_lock(rig: Rig) {
    let one = rig.process().await;
    let (two, held) = (one.clone(), Arc::new(Notify::new()));
    let is_held = Arc::clone(&held);
    let task = tokio::spawn(async move {
        let guard = take(&two).await;
        is_held.notify_one();
        guard.run(std::future::pending::<()>()).await
    });
    held.notified().await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    until(async || is_free(&one).await).await;
}

/// A thread that sleeps polls nothing; it detects the loss at its next check.
// shows: hazard AL13
async fn guard_in_a_blocked_thread_is_lost(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let guard = one.lock("stock/42").ttl(TTL).max_hold(2 * TTL).acquire().await.unwrap();
    let (go_on, blocked) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        blocked.recv().unwrap();
        (guard.is_lost(), guard.remaining())
    });
    let asked = two.lock("stock/42").wait(5 * TTL).acquire();
    let next = rig.while_time_passes(Box::pin(asked)).await.unwrap();
    go_on.send(()).unwrap();
    assert_eq!(thread.join().unwrap(), (true, Duration::ZERO));
    assert!(!next.is_lost());
}
