//! One guard and two databases, each of which has seen other fences.
//!
//! A guard that began a transaction in one database was declared lost by the next one, which had no row of its lock, or the row of a later
//! holder, although nobody else had the lock.

use super::shelf::{Shelf, Stand, add_one_in, furnished};
use crate::lock::side::rig::TTL;
use anyhow::Result;
use evenkeel::lock::{Fence, FenceError};

on_databases! {
    guard_begins_in_a_database_that_has_never_seen_its_lock
    database_with_later_fences_gives_the_guard_one_of_its_own
    other_database_does_not_declare_an_anchored_guard_lost
    another_pool_of_the_database_rejects_what_it_has_rejected
}

// shows: K3, hazard T30, lock::Guard::begin
async fn guard_begins_in_a_database_that_has_never_seen_its_lock<S: Shelf>(stand: Stand<S>) -> Result<()> {
    let (database, (one, two)) = (S::database().await?, stand.processes().await);
    let other = furnished::<S>(&database.url).await?;
    let guard = one.lock("stock/42").ttl(TTL).acquire_anchored(&stand.pool).await?;
    for _ in 0..2 {
        assert_eq!(add_one_in(&other, &guard).await?, guard.fence());
        stand.add_one(&guard).await?;
    }
    assert!(!guard.is_lost());
    // From then on the other one knows it: a holder whose fence it has rejected is lost everywhere.
    stand.rig.advance_store(TTL).await;
    let late = two.lock("stock/42").ttl(TTL).acquire().await?;
    add_one_in(&other, &late).await?;
    assert!(matches!(guard.begin(&other).await, Err(FenceError::Fenced { .. })));
    assert!(matches!(guard.begin(&stand.pool).await, Err(FenceError::Lost(_))));
    Ok(())
}

// shows: K1, hazard T30, lock::Guard::begin
async fn database_with_later_fences_gives_the_guard_one_of_its_own<S: Shelf>(stand: Stand<S>) -> Result<()> {
    let (database, (one, two)) = (S::database().await?, stand.processes().await);
    let other = furnished::<S>(&database.url).await?;
    let earlier = two.lock("stock/42").ttl(TTL).fence_above(Fence(1 << 51)).acquire().await?;
    let seen = add_one_in(&other, &earlier).await?;
    earlier.release().await?;
    stand.rig.forget("stock/42").await;
    let guard = one.lock("stock/42").ttl(TTL).acquire().await?;
    let fence = add_one_in(&stand.pool, &guard).await?;
    assert!(fence < seen, "Redis has forgotten");
    let raised = add_one_in(&other, &guard).await?;
    assert!(raised > seen);
    // What it has read in the first one depends on the fence that is stored there.
    assert_eq!((add_one_in(&stand.pool, &guard).await?, guard.fence()), (fence, fence));
    assert_eq!(add_one_in(&other, &guard).await?, raised);
    assert!(!guard.is_lost());
    Ok(())
}

// shows: hazard T30, lock::Guard::fence_first
async fn other_database_does_not_declare_an_anchored_guard_lost<S: Shelf>(stand: Stand<S>) -> Result<()> {
    let (database, (one, _)) = (S::database().await?, stand.processes().await);
    let other = furnished::<S>(&database.url).await?;
    let guard = one.lock("stock/42").ttl(TTL).acquire_anchored(&stand.pool).await?;
    let refused = guard.fence_first::<S>(&mut *other.acquire().await?).await;
    assert!(matches!(refused, Err(FenceError::NotAnchored)), "{refused:?}");
    assert!(!guard.is_lost());
    stand.add_one(&guard).await?;
    Ok(())
}

/// Two addresses of one database do not make it two: what a holder has read through one of them was written by others since.
// shows: K1, hazard T30, lock::Guard::begin
async fn another_pool_of_the_database_rejects_what_it_has_rejected<S: Shelf>(stand: Stand<S>) -> Result<()> {
    let (one, two) = stand.processes().await;
    let later = two.lock("other").fence_above(Fence(1 << 51)).acquire().await?;
    let another = stand.another_pool().await?;
    let guard = one.lock("stock/41").ttl(TTL).acquire_anchored(&stand.pool).await?;
    add_one_in(&another, &guard).await?;
    let guard = one.lock("stock/42").ttl(TTL).acquire_anchored(&stand.pool).await?;
    // A later holder had the lock on another Redis; this process still has it on its own.
    let stored =
        S::check_at_write(&mut *stand.pool.acquire().await?, "stock/42", i64::try_from(later.fence().0)?).await?;
    assert!(stored);
    assert!(matches!(guard.begin(&another).await, Err(FenceError::Fenced { .. })));
    let guard = one.lock("stock/43").ttl(TTL).acquire_anchored(&stand.pool).await?;
    S::run_test_script(&mut *stand.pool.acquire().await?, "DELETE FROM evenkeel_guards").await?;
    assert!(matches!(guard.begin(&another).await, Err(FenceError::Fenced { seen: None, .. })));
    Ok(())
}
