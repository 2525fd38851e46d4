//! Waiting for a lock: the local queue, waking, turns.

use super::holds::take;
use super::rig::{Rig, TTL, is_ready, until};
use evenkeel::Keel;
use evenkeel::lock::{LockError, Wait};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinHandle;

on_both! {
    tasks_of_one_process_acquire_in_request_order
    waiter_that_leaves_hands_on_its_turn
    release_wakes_another_process
    break_wakes_every_waiting_process
    release_between_attempt_and_wait_wakes_the_waiter
    repeated_acquire_yields_to_other_processes
    acquire_reports_the_timeout_of_its_wait
    waiter_gets_the_lock_of_a_dead_holder_on_expiry
}

async fn waiting(keel: &Keel) -> u64 {
    keel.lock("stock/42").inspect().await.unwrap().map_or(0, |holder| holder.waiting)
}

fn wait_for(keel: &Keel, mark: &'static str, order: &Arc<Mutex<Vec<&'static str>>>) -> JoinHandle<()> {
    let (lock, order) = (keel.lock("stock/42").wait(Wait::Forever), Arc::clone(order));
    tokio::spawn(async move {
        let guard = lock.acquire().await.unwrap();
        order.lock().unwrap().push(mark);
        guard.release().await.unwrap();
    })
}

// shows: K6, lock::LockBuilder::acquire
async fn tasks_of_one_process_acquire_in_request_order(rig: Rig) {
    let one = rig.process().await;
    let guard = take(&one).await;
    let order = Arc::default();
    let mut tasks = Vec::new();
    for mark in ["a", "b", "c", "d"] {
        tasks.push(wait_for(&one, mark, &order));
        tokio::task::yield_now().await;
    }
    guard.release().await.unwrap();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), ["a", "b", "c", "d"]);
}

// shows: K6
async fn waiter_that_leaves_hands_on_its_turn(rig: Rig) {
    let one = rig.process().await;
    let guard = take(&one).await;
    let mut leaving = Box::pin(one.lock("stock/42").wait(Wait::Forever).acquire());
    assert!(!is_ready(leaving.as_mut()));
    let order = Arc::default();
    let staying = wait_for(&one, "staying", &order);
    tokio::task::yield_now().await;
    guard.release().await.unwrap();
    // It is first in the local queue and has sent its request; its future is not polled any more.
    drop(leaving);
    staying.await.unwrap();
}

/// Time is frozen here: only a message can wake a waiter.
// shows: K6, hazard L10
async fn release_wakes_another_process(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let guard = take(&one).await;
    let order = Arc::default();
    let task = wait_for(&two, "two", &order);
    until(async || waiting(&one).await == 1).await;
    // The waiter has subscribed and waits by now, or is about to poll once more.
    for _ in 0..200 {
        waiting(&one).await;
    }
    guard.release().await.unwrap();
    task.await.unwrap();
}

/// A break notifies no particular waiter. Each waiter releases the lock once it has it, which wakes the next one.
// shows: K6
async fn break_wakes_every_waiting_process(rig: Rig) {
    let (one, two, three) = (rig.process().await, rig.process().await, rig.process().await);
    let _broken = take(&one).await;
    let order = Arc::default();
    let tasks = [wait_for(&two, "two", &order), wait_for(&three, "three", &order)];
    until(async || waiting(&one).await == 2).await;
    for _ in 0..200 {
        waiting(&one).await;
    }
    assert!(one.lock("stock/42").break_lock(None).await.unwrap().is_some());
    for task in tasks {
        task.await.unwrap();
    }
}

/// (L10) A client subscribed after its attempt had failed, and missed a release in between.
// shows: K6
async fn release_between_attempt_and_wait_wakes_the_waiter(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let guard = take(&one).await;
    let order = Arc::default();
    let task = wait_for(&two, "two", &order);
    // It counts as waiting as soon as its first attempt was rejected; it has not received anything yet.
    until(async || waiting(&one).await == 1).await;
    guard.release().await.unwrap();
    task.await.unwrap();
}

/// A busy process acquired the lock repeatedly, before the notified waiters ran.
// shows: K6, hazard L11, lock::LockBuilder::acquire
async fn repeated_acquire_yields_to_other_processes(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let order = Arc::default();
    let guard = take(&one).await;
    let task = wait_for(&two, "two", &order);
    until(async || waiting(&one).await == 1).await;
    let again = wait_for(&one, "one", &order);
    tokio::task::yield_now().await;
    guard.release().await.unwrap();
    task.await.unwrap();
    again.await.unwrap();
    assert_eq!(*order.lock().unwrap(), ["two", "one"]);
}

// shows: lock::LockBuilder::acquire, lock::LockBuilder::try_acquire, lock::ExclusiveLocks::try_acquire
async fn acquire_reports_the_timeout_of_its_wait(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let guard = take(&one).await;
    for keel in [&one, &two] {
        let asked = keel.lock("stock/42").wait(Duration::from_secs(3)).acquire();
        let busy = rig.while_time_passes(asked).await;
        assert!(matches!(busy, Err(LockError::Busy { .. })), "{busy:?}");
    }
    assert!(!guard.is_lost());
}

// shows: K6
async fn waiter_gets_the_lock_of_a_dead_holder_on_expiry(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let guard = take(&one).await;
    let asked = two.lock("stock/42").wait(Wait::Forever).acquire();
    let (first, asked) = (guard.fence(), asked);
    // Its process is stopped, so it renews nothing.
    std::mem::forget(guard);
    let dead = one;
    let next = tokio::spawn(asked);
    until(async || waiting(&dead).await == 1).await;
    rig.advance(TTL).await;
    rig.advance(TTL).await;
    assert!(rig.while_time_passes(next).await.unwrap().unwrap().fence() > first);
}
