//! Read/write locks as a program sees them.

use crate::lock::side::cancel::polled;
use crate::lock::side::rig::{Rig, TTL, until};
use evenkeel::Keel;
use evenkeel::lock::{Guard, LockError, LockTerms, LossReason, ReleaseOutcome, RwBuilder, Wait};
use std::time::Duration;

on_both! {
    readers_share_and_writer_excludes
    last_reader_wakes_the_writer
    writer_release_wakes_readers
    waiting_writer_is_not_starved
    writer_that_stops_waiting_does_not_block_readers
    each_reader_is_renewed
    paused_reader_detects_lost_lock
    broken_reader_detects_lost_lock
    shared_guard_ends_at_max_hold
    shared_guard_drop_needs_no_runtime
    dropped_shared_acquire_leaves_nothing
    dropped_waiting_shared_acquire_leaves_nothing
    dropped_shared_release_completes
    shared_locks_reject_a_lock_delay
    inspect_returns_the_readers
}

fn reader(keel: &Keel) -> RwBuilder {
    keel.rw_lock("shelf").read().ttl(TTL)
}

fn writer(keel: &Keel) -> RwBuilder {
    keel.rw_lock("shelf").write().ttl(TTL)
}

async fn read(keel: &Keel) -> Guard {
    reader(keel).acquire().await.unwrap()
}

async fn is_free(keel: &Keel) -> bool {
    keel.rw_lock("shelf").inspect().await.unwrap().is_none_or(|state| state.is_idle())
}

async fn waiting(keel: &Keel) -> u64 {
    keel.rw_lock("shelf").inspect().await.unwrap().map_or(0, |state| state.waiting)
}

/// After this each waiter has subscribed and waits, or is about to poll once more. The readers of a process have one place in the queue.
async fn asleep(keel: &Keel, number: u64) {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    until(async || waiting(keel).await == number).await;
    for _ in 0..200 {
        waiting(keel).await;
    }
}

/// All requests in flight have arrived by now, and acquired nothing.
async fn still_free(keel: &Keel) {
    for _ in 0..5 {
        assert!(is_free(keel).await, "it was taken once more");
        tokio::task::yield_now().await;
    }
}

async fn readers_share_and_writer_excludes(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let (first, second, third) = (read(&one).await, read(&two).await, read(&one).await);
    assert_eq!([second.fence(), third.fence()], [first.fence(); 2]);
    assert!(writer(&one).try_acquire().await.unwrap().is_none());
    for guard in [first, second, third] {
        assert_eq!((guard.name().as_str(), guard.remaining()), ("shelf", TTL));
        assert_eq!(guard.release().await.unwrap(), ReleaseOutcome::Released);
    }
    let guard = writer(&two).try_acquire().await.unwrap().unwrap();
    assert!(reader(&one).try_acquire().await.unwrap().is_none());
    assert!(reader(&two).try_acquire().await.unwrap().is_none());
    assert_eq!(guard.run(async { 7 }).await, Ok(7));
    assert!(one.lock("shelf").try_acquire().await.unwrap().is_some(), "the exclusive lock is another one");
    assert_eq!(guard.release().await.unwrap(), ReleaseOutcome::Released);
}

/// Time is frozen: only a message can wake a waiter.
// shows: K8
async fn last_reader_wakes_the_writer(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let (first, second) = (read(&one).await, read(&one).await);
    let asked = tokio::spawn(writer(&two).wait(Wait::Forever).acquire());
    asleep(&one, 1).await;
    first.release().await.unwrap();
    for _ in 0..20 {
        assert!(waiting(&one).await == 1 && !asked.is_finished());
    }
    let last = second.fence();
    second.release().await.unwrap();
    assert!(asked.await.unwrap().unwrap().fence() > last);
}

/// All waiters that can enter are notified, in any process.
// shows: K8
async fn writer_release_wakes_readers(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let guard = writer(&one).acquire().await.unwrap();
    let asked: Vec<_> =
        [&one, &two, &two].map(|keel| tokio::spawn(reader(keel).wait(Wait::Forever).acquire())).into_iter().collect();
    asleep(&one, 2).await;
    guard.release().await.unwrap();
    let mut guards = Vec::new();
    for task in asked {
        guards.push(task.await.unwrap().unwrap());
    }
    assert!(guards.iter().all(|guard| guard.fence() == guards[0].fence()));
}

/// Overlapping readers starved a writer.
// shows: K8
async fn waiting_writer_is_not_starved(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let first = read(&one).await;
    let asked = tokio::spawn(writer(&two).wait(Wait::Forever).acquire());
    asleep(&one, 1).await;
    assert!(reader(&one).try_acquire().await.unwrap().is_none(), "it asked later");
    first.release().await.unwrap();
    let guard = asked.await.unwrap().unwrap();
    assert!(reader(&one).try_acquire().await.unwrap().is_none());
    guard.release().await.unwrap();
    drop(read(&one).await);
}

/// All later callers waited for a writer that had given up. Time is frozen, so its place in the queue does not expire.
// shows: K8
async fn writer_that_stops_waiting_does_not_block_readers(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let first = read(&one).await;
    let asked = tokio::spawn(writer(&two).wait(Wait::Forever).acquire());
    asleep(&one, 1).await;
    asked.abort();
    assert!(asked.await.unwrap_err().is_cancelled());
    until(async || reader(&one).try_acquire().await.unwrap().is_some()).await;
    let busy = rig.while_time_passes(Box::pin(writer(&two).wait(Duration::from_secs(3)).acquire())).await;
    assert!(matches!(busy, Err(LockError::Busy { .. })), "{busy:?}");
    until(async || waiting(&one).await == 0).await;
    assert!(!first.is_lost());
}

// shows: K7
async fn each_reader_is_renewed(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let (first, second) = (read(&one).await, read(&two).await);
    for _ in 0..4 {
        rig.pass(TTL / 2).await;
        assert!(!first.is_lost() && !second.is_lost());
    }
    assert!(writer(&two).try_acquire().await.unwrap().is_none());
    drop(first);
    until(async || two.rw_lock("shelf").inspect().await.unwrap().unwrap().holders.len() == 1).await;
    rig.pass(TTL).await;
    assert!(!second.is_lost(), "it does not live by the other one");
}

/// (L3) Timers stop while a process is stopped: the reader resumed and continued to read what a writer was changing.
// shows: K7
async fn paused_reader_detects_lost_lock(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let guard = read(&one).await;
    rig.advance(TTL + TTL).await;
    assert_eq!(guard.lost().await.reason, LossReason::Expired);
    let other = writer(&two).try_acquire().await.unwrap().unwrap();
    assert!(other.fence() > guard.fence());
    assert!(guard.run(std::future::pending::<()>()).await.is_err());
    assert_eq!(guard.release().await.unwrap(), ReleaseOutcome::AlreadyLost);
    assert!(!other.is_lost());
}

// shows: lock::RwLock::inspect, lock::RwLock::break_holds, lock::Semaphore::inspect, lock::Semaphore::break_holds
// shows: lock::Keel::rw_locks_known, lock::Keel::semaphores_known
async fn broken_reader_detects_lost_lock(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let guard = read(&one).await;
    assert_eq!(two.rw_lock("shelf").break_holds(None).await.unwrap().len(), 1);
    let other = writer(&two).try_acquire().await.unwrap().unwrap();
    let lost = rig.while_time_passes(Box::pin(guard.lost())).await;
    assert_eq!(lost.reason, LossReason::Gone);
    assert!(!other.is_lost());
}

/// (L7) A leaked guard was renewed until its process ended.
async fn shared_guard_ends_at_max_hold(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let guard = reader(&one).max_hold(TTL * 2).acquire().await.unwrap();
    rig.pass(TTL).await;
    assert!(!guard.is_lost());
    let lost = rig.while_time_passes(Box::pin(guard.lost())).await;
    assert_eq!(lost.reason, LossReason::Expired);
    assert!(writer(&two).try_acquire().await.unwrap().is_some());
}

/// (L7) A guard that was dropped outside of the runtime panicked or blocked.
async fn shared_guard_drop_needs_no_runtime(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let guards = [read(&one).await, read(&one).await];
    std::thread::spawn(move || drop(guards)).join().unwrap();
    one.shutdown(Duration::from_secs(10)).await;
    assert!(is_free(&two).await, "a shutdown waits for the releases");
}

/// (L6) A future that was dropped after its command had reached the server left a reader entry without a reader.
// shows: K7, lock::RwBuilder::acquire, lock::PermitsBuilder::acquire
async fn dropped_shared_acquire_leaves_nothing(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    for polls in 0.. {
        let ask = if polls % 2 == 0 { reader(&one) } else { writer(&one) };
        let acquired = polled(ask.acquire(), polls / 2).await;
        let was_done = acquired.is_some();
        drop(acquired);
        // Time is frozen: no lease expires.
        until(async || is_free(&two).await).await;
        still_free(&two).await;
        if was_done && polls % 2 == 1 {
            return;
        }
    }
}

// shows: K7, lock::RwBuilder::acquire, lock::PermitsBuilder::acquire
async fn dropped_waiting_shared_acquire_leaves_nothing(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    for polls in 0.. {
        let guard = read(&two).await;
        let waited = polled(writer(&one).wait(Duration::from_secs(60)).acquire(), polls);
        let release = async {
            tokio::task::yield_now().await;
            guard.release().await.unwrap();
        };
        let (waited, ()) = tokio::join!(waited, release);
        let was_done = waited.is_some();
        drop(waited);
        // Neither the lock nor a place in its queue remains.
        until(async || is_free(&two).await).await;
        still_free(&two).await;
        if was_done {
            return;
        }
    }
}

// shows: K7
async fn dropped_shared_release_completes(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    for polls in 0.. {
        let guard = read(&one).await;
        let released = polled(guard.release(), polls).await;
        until(async || is_free(&two).await).await;
        still_free(&two).await;
        if released.is_some() {
            return;
        }
    }
}

// shows: lock::RwBuilder::try_acquire, lock::PermitsBuilder::try_acquire, lock::Semaphore::acquire
// shows: lock::PermitsBuilder::acquire
async fn shared_locks_reject_a_lock_delay(rig: Rig) {
    let one = rig.process().await;
    let terms = LockTerms::default().lock_delay(TTL);
    let refused = one.rw_lock("shelf").read().terms(terms).acquire().await;
    assert!(matches!(refused, Err(LockError::Invalid(_))), "{refused:?}");
    assert!(one.rw_lock("").read().acquire().await.is_err());
}

// shows: lock::RwLock::inspect, lock::RwLock::break_holds, lock::Semaphore::inspect, lock::Semaphore::break_holds
// shows: lock::Keel::rw_locks_known, lock::Keel::semaphores_known
async fn inspect_returns_the_readers(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let _guards = (reader(&one).metadata("counter 7").acquire().await.unwrap(), read(&two).await);
    let seen = two.rw_lock("shelf").inspect().await.unwrap().unwrap();
    let metadata: Vec<_> = seen.holders.iter().map(|holder| &holder.metadata[..]).collect();
    assert!(metadata.len() == 2 && metadata.contains(&&b"counter 7"[..]), "{seen:?}");
    let names: Vec<String> = two.rw_locks_known().await.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["shelf"]);
    assert!(two.locks_held().await.unwrap().is_empty() && two.semaphores_known().await.unwrap().is_empty());
}
