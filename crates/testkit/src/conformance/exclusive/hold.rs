//! One holder at a time, and how others wait.

use super::fleet::{Fleet, LONG, SHORT, is_free, take, terms, until};
use anyhow::{Context, Result};
use evenkeel::lock::{ExclusiveGuard, ExclusiveLocks, LockError, Lost, ReleaseOutcome};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;
use tokio::task::JoinSet;

const TASKS: u32 = 6;

/// No holder runs between another one's read and write.
// shows: KR1, KA1, hazard L16, lock::ExclusiveLocks, lock::AdvisoryLocks, lock::AdvisoryLocks::acquire
// shows: lock::AdvisoryLocks::try_acquire, lock::RowLocks
pub async fn one_holder_at_a_time(fleet: &impl Fleet, name: &'static str) -> Result<()> {
    let processes: Vec<Arc<dyn ExclusiveLocks>> =
        vec![Arc::from(fleet.running().await?), Arc::from(fleet.running().await?)];
    let (inside, count) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let mut tasks = JoinSet::new();
    for number in 0..TASKS {
        let locks = Arc::clone(&processes[usize::from(number % 2 == 0)]);
        let (inside, count) = (Arc::clone(&inside), Arc::clone(&count));
        tasks.spawn(async move {
            let guard = take(&*locks, name, LONG).await?;
            assert_eq!(inside.fetch_add(1, SeqCst), 0, "another holder is inside");
            let before = count.load(SeqCst);
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            count.store(before + 1, SeqCst);
            inside.fetch_sub(1, SeqCst);
            guard.release().await?;
            anyhow::Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    assert_eq!(count.load(SeqCst), TASKS);
    Ok(())
}

/// A caller that does not wait gets an error at once, and one that waits gets it after its wait.
// shows: KR1, hazard BL5, lock::LockBuilder::acquire, lock::LockBuilder::try_acquire, lock::ExclusiveLocks::try_acquire
// shows: lock::AdvisoryLocks, lock::AdvisoryLocks::acquire, lock::AdvisoryLocks::try_acquire
pub async fn held_lock_is_rejected_with_its_remaining_time(fleet: &impl Fleet, name: &str) -> Result<()> {
    let (one, two) = (fleet.running().await?, fleet.running().await?);
    let guard = one.try_acquire(name, &terms(LONG)).await?.context("it is free")?;
    assert_eq!((guard.name(), guard.is_lost()), (name, false));
    assert!(guard.remaining() > LONG / 2);
    for locks in [&one, &two] {
        assert!(locks.try_acquire(name, &terms(LONG)).await?.is_none());
        assert!(matches!(locks.acquire(name, &terms(LONG)).await, Err(LockError::Busy { .. })));
    }
    let waited = two.acquire(name, &terms(LONG).wait(Duration::from_millis(30))).await;
    assert!(matches!(&waited, Err(error @ LockError::Busy { .. }) if error.is_retryable()), "{waited:?}");
    assert!(two.try_acquire("another", &terms(LONG)).await?.is_some());
    assert_eq!(run_under(&*guard).await?, 7);
    assert_eq!(guard.release().await?, ReleaseOutcome::Released);
    // A caller that waited for a moment may still be in a server's queue.
    until(async || is_free(&*two, name).await).await?;
    until(async || is_free(&*one, name).await).await
}

/// A function that borrows a guard of any kind: it did not compile, because only a guard without borrowed parts had `run`.
async fn run_under(guard: &dyn ExclusiveGuard) -> Result<u32, Lost> {
    guard.run(async { 7 }).await
}

/// (L5) A fence that does not rise excludes no earlier holder; a backend without fences says so.
// shows: KR1, lock::AdvisoryLocks, lock::RowLocks
pub async fn fences_rise_if_supported(fleet: &impl Fleet, name: &str) -> Result<()> {
    let (one, two) = (fleet.running().await?, fleet.running().await?);
    let mut last = None;
    for locks in [&one, &two, &one, &one, &two] {
        let guard = take(&**locks, name, LONG).await?;
        assert_eq!(guard.fence().is_some(), fleet.has_fences());
        assert_eq!(guard.as_fenced().map(evenkeel::lock::Guard::fence), guard.fence());
        assert!(guard.fence() > last || !fleet.has_fences(), "{:?} follows {last:?}", guard.fence());
        last = guard.fence();
        guard.release().await?;
    }
    Ok(())
}

/// (L10) A waiter slept through the release, until the lease would have ended.
// shows: KR1, KA1
pub async fn release_wakes_the_waiter(fleet: &impl Fleet, name: &'static str) -> Result<()> {
    let (one, two) = (fleet.running().await?, fleet.running().await?);
    let guard = take(&*one, name, LONG).await?;
    let waiting = tokio::spawn(async move { take(&*two, name, LONG).await });
    // However far it has come by now.
    assert!(!is_free(&*one, name).await?);
    guard.release().await?;
    let next = waiting.await??;
    assert!(!next.is_lost());
    // And later ones, in the same process and in another.
    let third = fleet.running().await?;
    let (first, second) = tokio::join!(tokio::spawn(pass_through(one, name)), async {
        let waiting = tokio::spawn(pass_through(third, name));
        next.release().await?;
        anyhow::Ok(waiting.await??)
    });
    first??;
    second
}

async fn pass_through(locks: Box<dyn ExclusiveLocks>, name: &str) -> Result<()> {
    take(&*locks, name, LONG).await?.release().await?;
    Ok(())
}

/// (L2) A lease is kept for as long as its holder lives.
// shows: KR1
pub async fn guard_is_renewed_while_held(fleet: &impl Fleet, name: &str) -> Result<()> {
    let (one, two) = (fleet.paused().await?, fleet.running().await?);
    let ttl = SHORT * 6;
    let guard = take(&*one, name, ttl).await?;
    for _ in 0..6 {
        // A renewal within the millisecond of the last one would find nothing to prolong.
        let _ = tokio::time::timeout(Duration::from_millis(2), std::future::pending::<()>()).await;
        fleet.pass(ttl / 3);
        // The renewal was answered: its lease counts from now.
        until(async || Ok(guard.remaining() > ttl * 3 / 4)).await?;
        assert!(!guard.is_lost() && two.try_acquire(name, &terms(LONG)).await?.is_none());
    }
    assert_eq!(guard.release().await?, ReleaseOutcome::Released);
    Ok(())
}
