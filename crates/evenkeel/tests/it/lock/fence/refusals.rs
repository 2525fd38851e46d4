//! Holders that the database rejects although they believe in their lock: the clock of Redis advances here, those of the
//! processes do not.

use super::shelf::{Shelf, Stand};
use crate::lock::side::rig::TTL;
use anyhow::Result;
use evenkeel::Keel;
use evenkeel::lock::{Fence, FenceError, Guard, LockBuilder, LockError, LossReason};
use std::time::Duration;
use testkit::eventually;

on_databases! {
    late_holder_is_rejected
    late_anchored_holder_is_rejected
    fence_behind_before_the_first_read_is_raised
    fence_behind_after_a_read_is_rejected
    deleted_fence_row_is_not_recreated
    impossible_fence_in_a_row_is_reported
    longest_lease_begins_a_transaction
    equal_fence_of_the_same_holder_passes
    equal_fence_of_another_holder_is_rejected
    unit_of_work_begins_with_the_fence
    lower_fence_is_rejected_in_every_statement_order
}

fn lock(keel: &Keel) -> LockBuilder {
    keel.lock("stock/42").ttl(TTL)
}

fn is_fenced<T: std::fmt::Debug>(answer: &Result<T, FenceError>) -> bool {
    matches!(answer, Err(error @ FenceError::Fenced { .. }) if error.is_fenced())
}

/// (Kleppmann's pause) The lease is over for Redis, and its holder has not noticed.
async fn expired<S: Shelf>(stand: &Stand<S>, guard: &Guard) {
    stand.rig.advance_store(TTL).await;
    assert!(!guard.is_lost(), "it believes in its lease");
}

// shows: K1, lock::Guard::begin, lock::Guard::fence_first, lock::FencedTransaction::tx, lock::FencedTransaction::commit
// shows: lock::FencedTransaction::rollback
async fn late_holder_is_rejected<S: Shelf>(stand: Stand<S>) -> Result<()> {
    let (one, two) = stand.processes().await;
    let early = lock(&one).acquire().await?;
    expired(&stand, &early).await;
    let late = lock(&two).acquire().await?;
    stand.add_one(&late).await?;
    assert!(is_fenced(&early.begin(&stand.pool).await));
    assert_eq!(early.lost().await.reason, LossReason::Fenced, "now it knows");
    assert!(matches!(early.begin(&stand.pool).await, Err(FenceError::Lost(_))));
    stand.add_one(&late).await?;
    assert_eq!(stand.amount().await?, 2);
    Ok(())
}

// shows: K1, lock::LockBuilder::acquire_anchored, lock::RwBuilder::acquire_anchored
async fn late_anchored_holder_is_rejected<S: Shelf>(stand: Stand<S>) -> Result<()> {
    let (one, two) = stand.processes().await;
    let early = lock(&one).acquire_anchored(&stand.pool).await?;
    let read = stand.amount().await?;
    expired(&stand, &early).await;
    // Nothing but the anchor of the next one is in the database yet.
    let late = lock(&two).acquire_anchored(&stand.pool).await?;
    assert!(is_fenced(&early.begin(&stand.pool).await));
    stand.add_one(&late).await?;
    assert_eq!((read, stand.amount().await?), (0, 1));
    Ok(())
}

/// (L5) After a failover to a stale replica, or a flush, on a server whose clock is behind, fences are lower than before: the new
/// holder would be rejected forever.
// shows: K1, hazard L5
async fn fence_behind_before_the_first_read_is_raised<S: Shelf>(stand: Stand<S>) -> Result<()> {
    let (one, two) = stand.processes().await;
    let old = lock(&one).acquire().await?;
    stand.add_one(&old).await?;
    stand.rig.forget("stock/42").await;
    stand.rig.set_back(Duration::from_secs(3_600)).await;
    let new = lock(&two).acquire().await?;
    assert!(new.fence() < old.fence(), "Redis has forgotten");
    stand.add_one(&new).await?;
    assert!(new.fence() > old.fence(), "SQL has not");
    assert!(is_fenced(&old.begin(&stand.pool).await));
    // The next one is above it without SQL's help.
    let healed = new.fence();
    new.release().await?;
    assert!(lock(&two).acquire().await?.fence() > healed);
    assert_eq!(stand.amount().await?, 1 + 1);
    Ok(())
}

/// A holder that raised its fence after it had read would overwrite a later holder's write with a result based on an old
/// state.
// shows: K1
async fn fence_behind_after_a_read_is_rejected<S: Shelf>(stand: Stand<S>) -> Result<()> {
    let (one, two) = stand.processes().await;
    let guard = lock(&one).acquire_anchored(&stand.pool).await?;
    let read = stand.amount().await?;
    let seen = Fence(guard.fence().0 + 1_000);
    // A later holder acquires the lock on another Redis. Then this process acquires it again on its own Redis.
    let later = two.lock("other").fence_above(seen).acquire().await?;
    let mut connection = stand.pool.acquire().await?;
    assert!(S::check_at_write(&mut connection, "stock/42", i64::try_from(later.fence().0)?).await?);
    S::put(&mut connection, read + 10).await?;
    drop(connection);
    assert!(is_fenced(&guard.begin(&stand.pool).await));
    assert_eq!(stand.amount().await?, 10);
    Ok(())
}

/// A deleted row has no memory of fences: a holder that stored a fence before must not continue as if the row still had it.
// shows: K1
async fn deleted_fence_row_is_not_recreated<S: Shelf>(stand: Stand<S>) -> Result<()> {
    let (one, _) = stand.processes().await;
    let guard = lock(&one).acquire().await?;
    stand.add_one(&guard).await?;
    S::run_test_script(&mut *stand.pool.acquire().await?, "DELETE FROM evenkeel_guards").await?;
    assert!(is_fenced(&guard.begin(&stand.pool).await));
    Ok(())
}

/// PostgreSQL has no timeout as long as that: every transaction failed.
// shows: hazard AL12
async fn longest_lease_begins_a_transaction<S: Shelf>(stand: Stand<S>) -> Result<()> {
    let (one, _) = stand.processes().await;
    let longest = Duration::from_millis(u64::from(u32::MAX));
    let guard = one.lock("stock/42").ttl(longest).max_hold(Duration::MAX).acquire_anchored(&stand.pool).await?;
    stand.add_one(&guard).await?;
    assert_eq!(stand.amount().await?, 1);
    Ok(())
}

/// Fences were raised above the largest integer that a script can count to: every call returned "try later".
// shows: hazard AL12
async fn impossible_fence_in_a_row_is_reported<S: Shelf>(stand: Stand<S>) -> Result<()> {
    let (one, two) = stand.processes().await;
    stand.add_one(&lock(&one).acquire().await?).await?;
    for written in [
        "UPDATE evenkeel_guards SET fence = 9007199254740991",
        "UPDATE evenkeel_guards SET fence = 9223372036854775807",
    ] {
        S::run_test_script(&mut *stand.pool.acquire().await?, written).await?;
        let guard = lock(&two).wait(TTL).acquire().await?;
        let error = guard.begin(&stand.pool).await.unwrap_err();
        let is_named = matches!(&error, FenceError::Lock(LockError::Invalid(text)) if text.contains("evenkeel_guards"));
        assert!(is_named && !error.is_retryable(), "{error}");
        guard.release().await?;
    }
    S::run_test_script(&mut *stand.pool.acquire().await?, "UPDATE evenkeel_guards SET fence = 0").await?;
    stand.add_one(&lock(&two).acquire().await?).await?;
    assert_eq!(stand.amount().await?, 2);
    Ok(())
}

/// Redis forgot its fences, and handed the same one out within the same millisecond: "not lower" let both holders pass.
// shows: K1, hazard L5
async fn equal_fence_of_another_holder_is_rejected<S: Shelf>(stand: Stand<S>) -> Result<()> {
    let (one, two) = stand.processes().await;
    let early = lock(&one).acquire_anchored(&stand.pool).await?;
    stand.rig.forget("stock/42").await;
    let late = lock(&two).acquire().await?;
    assert_eq!(late.fence(), early.fence());
    stand.add_one(&late).await?;
    assert!(late.fence() > early.fence(), "it was lifted");
    assert!(is_fenced(&early.begin(&stand.pool).await));
    Ok(())
}

/// A holder may begin as many transactions as it likes. (MySQL counts a row as changed only if it differs.)
// shows: K1
async fn equal_fence_of_the_same_holder_passes<S: Shelf>(stand: Stand<S>) -> Result<()> {
    let (one, _) = stand.processes().await;
    let guard = lock(&one).acquire().await?;
    for _ in 0..3 {
        stand.add_one(&guard).await?;
    }
    guard.begin(&stand.pool).await?.rollback().await?;
    assert_eq!(stand.amount().await?, 3);
    Ok(())
}

// shows: K1, lock::FencedTransaction::tx, lock::FencedTransaction::commit, lock::FencedTransaction::rollback
async fn unit_of_work_begins_with_the_fence<S: Shelf>(stand: Stand<S>) -> Result<()> {
    let (one, two) = stand.processes().await;
    let early = lock(&one).acquire_anchored(&stand.pool).await?;
    let mut work = one.begin(&stand.pool).await?;
    early.fence_first::<S>(work.tx()).await?;
    S::put(work.tx(), 5).await?;
    work.commit().await?;
    expired(&stand, &early).await;
    let late = lock(&two).acquire_anchored(&stand.pool).await?;
    let mut work = one.begin(&stand.pool).await?;
    assert!(is_fenced(&early.fence_first::<S>(work.tx()).await));
    work.rollback().await?;
    assert_eq!(stand.amount().await?, 5);
    late.release().await?;
    Ok(())
}

/// (An upsert that stores the greater of two fences succeeds for 7 after 9, so it does not reject the earlier holder.)
// shows: lock::Guard::begin, lock::Guard::fence_first
async fn lower_fence_is_rejected_in_every_statement_order<S: Shelf>(stand: Stand<S>) -> Result<()> {
    let (one, two) = stand.processes().await;
    let early = lock(&one).acquire_anchored(&stand.pool).await?;
    expired(&stand, &early).await;
    let late = lock(&two).acquire_anchored(&stand.pool).await?;
    for _ in 0..3 {
        assert!(is_fenced(&early.fence_first::<S>(&mut *stand.pool.acquire().await?).await) || early.is_lost());
    }
    stand.add_one(&late).await?;
    Ok(())
}

/// A process stopped in the middle of its transaction would keep the row locked for as long as it is stopped.
// shows: K1, hazard L16, hazard B4
async fn idle_transaction_is_ended<S: Shelf>(stand: Stand<S>) -> Result<()> {
    let (one, two) = stand.processes().await;
    let early = one.lock("stock/42").ttl(Duration::from_secs(1)).acquire().await?;
    let idle = early.begin(&stand.pool).await?;
    stand.rig.advance_store(Duration::from_secs(1)).await;
    let late = lock(&two).acquire().await?;
    stand.add_one(&late).await?;
    // Nothing is unknown about a transaction that this timeout has ended.
    let error = idle.commit().await.unwrap_err();
    assert!(error.is_retryable() && !error.outcome_unknown(), "{error:?}");
    assert_eq!(stand.amount().await?, 1);
    Ok(())
}

// shows: lock::Guard::begin
#[tokio::test]
async fn idle_transaction_is_ended_on_mariadb() -> Result<()> {
    idle_transaction_is_ended(Stand::mariadb().await?).await
}

// shows: lock::Guard::begin
#[tokio::test]
async fn idle_transaction_is_ended_on_postgres() -> Result<()> {
    idle_transaction_is_ended(Stand::postgres().await?).await
}

/// (MySQL sets it for the session) A dropped transaction left the ttl of its lock as the idle timeout of a connection that
/// returned to its pool: the server ended the next transaction on it in the middle of a long computation.
#[tokio::test]
async fn idle_timeout_ends_with_its_transaction() -> Result<()> {
    const IDLE: &str = "SELECT CAST(@@SESSION.wait_timeout AS SIGNED)";
    let stand = Stand::mariadb().await?;
    let (one, _) = stand.processes().await;
    let guard = lock(&one).acquire_anchored(&stand.pool).await?;
    let pool = stand.alone().await?;
    let idle = async || sqlx::query_scalar::<_, i64>(IDLE).fetch_one(&pool).await.unwrap();
    let default = idle().await;
    guard.begin(&pool).await?.rollback().await?;
    assert_eq!(idle().await, default, "rolled back");
    let mut work = guard.begin(&pool).await?;
    let limit: i64 = sqlx::query_scalar(IDLE).fetch_one(work.tx()?).await?;
    assert!(limit < default, "{limit}");
    drop(work);
    eventually("the idle time is put back", async || (idle().await == default).then_some(())).await
}
