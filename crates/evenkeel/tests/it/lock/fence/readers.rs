//! The fence that readers share, at the database.

use super::shelf::{Shelf, Stand};
use crate::lock::side::rig::TTL;
use anyhow::Result;
use evenkeel::Keel;
use evenkeel::lock::{FenceError, LossReason, RwBuilder};
use std::time::Duration;

on_databases! {
    readers_with_one_fence_all_pass
    reader_rejects_an_earlier_writer
    reader_after_a_later_writer_is_rejected
    lost_shared_fence_is_raised_for_all_readers
}

fn reader(keel: &Keel) -> RwBuilder {
    keel.rw_lock("shelf").read().ttl(TTL)
}

fn writer(keel: &Keel) -> RwBuilder {
    keel.rw_lock("shelf").write().ttl(TTL)
}

/// With one owner per fence, the second reader, with the same fence and another owner, was rejected without a writer.
// shows: K9, lock::LockBuilder::acquire_anchored, lock::RwBuilder::acquire_anchored
async fn readers_with_one_fence_all_pass<S: Shelf>(stand: Stand<S>) -> Result<()> {
    let (one, two) = stand.processes().await;
    let first = reader(&one).acquire_anchored(&stand.pool).await?;
    let second = reader(&two).acquire_anchored(&stand.pool).await?;
    assert_eq!(first.fence(), second.fence());
    for guard in [&first, &second, &first] {
        let mut work = guard.begin(&stand.pool).await?;
        assert_eq!(S::amount(work.tx()?).await?, 0);
        work.commit().await?;
    }
    first.release().await?;
    second.release().await?;
    stand.add_one(&writer(&one).acquire().await?).await?;
    assert_eq!(stand.amount().await?, 1);
    Ok(())
}

/// (Kleppmann's pause) A writer resumed after its lease had expired and changed what readers were reading.
// shows: K9
async fn reader_rejects_an_earlier_writer<S: Shelf>(stand: Stand<S>) -> Result<()> {
    let (one, two) = stand.processes().await;
    let early = writer(&one).acquire().await?;
    stand.rig.advance_store(TTL).await;
    assert!(!early.is_lost(), "it believes in its lease");
    let guard = reader(&two).acquire_anchored(&stand.pool).await?;
    let read = stand.amount().await?;
    let refused = stand.add_one(&early).await;
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(early.lost().await.reason, LossReason::Fenced);
    assert!(!guard.is_lost() && stand.amount().await? == read);
    Ok(())
}

/// A reader that was paused beyond its lease receives an error before it uses the data that it reads.
// shows: K9
async fn reader_after_a_later_writer_is_rejected<S: Shelf>(stand: Stand<S>) -> Result<()> {
    let (one, two) = stand.processes().await;
    let early = reader(&one).acquire_anchored(&stand.pool).await?;
    stand.rig.advance_store(TTL).await;
    stand.add_one(&writer(&two).acquire().await?).await?;
    let refused = early.begin(&stand.pool).await;
    assert!(matches!(refused, Err(FenceError::Fenced { .. })), "{refused:?}");
    Ok(())
}

/// (L5) Redis lost its data, and its clock is behind. The first reader raises the shared fence; the second must take that one, or it would
/// shut the first one out.
// shows: K9
async fn lost_shared_fence_is_raised_for_all_readers<S: Shelf>(stand: Stand<S>) -> Result<()> {
    let (one, two) = stand.processes().await;
    let old = writer(&one).acquire().await?;
    stand.add_one(&old).await?;
    stand.rig.forget("shelf").await;
    stand.rig.set_back(Duration::from_secs(3_600)).await;
    let (first, second) = (reader(&one).acquire().await?, reader(&two).acquire().await?);
    assert!(first.fence() < old.fence(), "Redis has forgotten");
    for guard in [&first, &second, &first, &second] {
        guard.begin(&stand.pool).await?.commit().await?;
    }
    assert!(first.fence() > old.fence() && second.fence() == first.fence(), "SQL has not");
    Ok(())
}
