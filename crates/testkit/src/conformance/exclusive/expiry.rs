//! What becomes of a holder whose lease ended, or whose connection did, while it was paused.

use super::fleet::{Fleet, LONG, SHORT, is_free, take, terms, until};
use anyhow::{Context, Result};
use evenkeel::lock::{ExclusiveGuard, ExclusiveLocks, LossReason, ReleaseOutcome};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// A holder that was paused beyond its lease, and the next one.
async fn overtaken(
    fleet: &impl Fleet,
    paused: &dyn ExclusiveLocks,
    next: &dyn ExclusiveLocks,
    name: &str,
) -> Result<(Box<dyn ExclusiveGuard>, Box<dyn ExclusiveGuard>)> {
    let early = take(paused, name, SHORT).await?;
    fleet.expire_leases().await?;
    let late = take(next, name, LONG).await?;
    Ok((early, late))
}

/// (L2, L3) A holder was paused beyond its lease: it detects that when it runs again, before it continues, and permanently.
// shows: KR1, KA1, hazard L16, lock::ExclusiveLocks, lock::Guard::run, lock::Permits::run, lock::ExclusiveGuard::run
// shows: lock::AdvisoryGuard::run, lock::AdvisoryLocks, lock::AdvisoryLocks::acquire, lock::AdvisoryLocks::try_acquire
pub async fn holder_detects_its_expired_lease(fleet: &impl Fleet, name: &str) -> Result<()> {
    let (one, two) = (fleet.paused().await?, fleet.running().await?);
    let (early, late) = overtaken(fleet, &*one, &*two, name).await?;
    fleet.pass(SHORT);
    let polls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&polls);
    let ran = early.run(std::future::poll_fn(move |_| {
        count.fetch_add(1, SeqCst);
        std::task::Poll::<()>::Pending
    }));
    assert!(ran.await.is_err() && early.is_lost() && early.remaining().is_zero());
    assert_eq!(polls.load(SeqCst), 0, "it was polled after the pause");
    assert_eq!(early.lost().await, early.lost().await);
    assert!(!late.is_lost());
    if fleet.has_fences() {
        assert!(late.fence() > early.fence());
    }
    assert_eq!(late.release().await?, ReleaseOutcome::Released);
    assert!(early.is_lost(), "what is lost stays lost");
    Ok(())
}

/// (the recipe without a check of the owner) The release of a holder that came too late freed the lock of the next one.
// shows: KR1, KA1
pub async fn late_release_does_not_free_the_next_holder(fleet: &impl Fleet, name: &str) -> Result<()> {
    let (one, two) = (fleet.paused().await?, fleet.running().await?);
    let third = fleet.running().await?;
    let (early, late) = overtaken(fleet, &*one, &*two, name).await?;
    assert_eq!(early.release().await?, ReleaseOutcome::AlreadyLost);
    assert!(!is_free(&*third, name).await?);
    assert_eq!(late.release().await?, ReleaseOutcome::Released);
    Ok(())
}

/// (L1, L2) A late renewal gave an unheld lock a holder again.
// shows: KR1, lock::RowLocks
pub async fn late_renewal_does_not_revive_a_lost_lock(fleet: &impl Fleet, name: &str) -> Result<()> {
    let (one, two) = (fleet.paused().await?, fleet.running().await?);
    let (early, late) = overtaken(fleet, &*one, &*two, name).await?;
    late.release().await?;
    // By its own clock the lease continues, so a renewal is sent.
    fleet.pass(SHORT / 3);
    let lost = early.lost().await;
    assert!(matches!(lost.reason, LossReason::Gone | LossReason::Expired), "{lost:?}");
    for _ in 0..3 {
        assert!(is_free(&*two, name).await?);
    }
    Ok(())
}

/// The server ended the holder's connection. A lease outlives it; a lock that the connection held is gone, and its holder detects
/// that.
// shows: KR1, KA1, lock::AdvisoryLocks, lock::AdvisoryLocks::acquire, lock::AdvisoryLocks::try_acquire
pub async fn killed_connection_ends_only_connection_locks(fleet: &impl Fleet, name: &str) -> Result<()> {
    let (one, two) = (fleet.paused().await?, fleet.running().await?);
    let guard = take(&*one, name, LONG).await?;
    if !fleet.kill_connections().await? {
        return Ok(());
    }
    if fleet.is_held_by_connection() {
        let next = take(&*two, name, LONG).await?;
        fleet.pass(LONG / 3);
        assert_eq!(guard.lost().await.reason, LossReason::Gone);
        assert_eq!(guard.release().await?, ReleaseOutcome::AlreadyLost);
        assert!(!next.is_lost());
        return Ok(());
    }
    fleet.pass(LONG / 3);
    until(async || Ok(guard.remaining() > LONG - LONG / 6)).await?;
    // The first statements of a process may meet connections that are no more.
    let asked = two.try_acquire(name, &terms(LONG)).await.context("after the connections were killed")?;
    assert!(asked.is_none() && !guard.is_lost());
    assert_eq!(guard.release().await?, ReleaseOutcome::Released);
    Ok(())
}

/// (L7) A guard that was dropped outside of the runtime panicked or blocked, because its drop had to send a command.
// shows: KR1, lock::ExclusiveLocks
pub async fn guard_drop_needs_no_runtime(fleet: &impl Fleet, name: &str) -> Result<()> {
    let (one, two) = (fleet.running().await?, fleet.running().await?);
    let guard = take(&*one, name, LONG).await?;
    let dropped = std::thread::spawn(move || drop(guard));
    dropped.join().map_err(|_| anyhow::anyhow!("the drop panicked"))?;
    until(async || is_free(&*two, name).await).await?;
    drop(take(&*one, name, Duration::from_secs(30)).await?);
    until(async || is_free(&*two, name).await).await
}
