//! The fence of a lock over several servers, at the database.

use super::shelf::{Shelf, furnished};
use anyhow::Result;
use evenkeel::lock::{FenceError, Guard, LossReason, Redlock};
use sqlx::{Pool, Sqlite};
use std::time::Duration;
use testkit::park::sqlite_database;

const TTL: Duration = Duration::from_secs(30);

async fn add_one(guard: &Guard, pool: &Pool<Sqlite>) -> Result<()> {
    let mut work = guard.begin(pool).await?;
    let amount = Sqlite::amount(work.tx()?).await?;
    Sqlite::put(work.tx()?, amount + 1).await?;
    Ok(work.commit().await?)
}

/// The database has seen a higher fence than any server has stored: it is raised on a majority, and the next one is above it.
// shows: K1, lock::Redlock
#[tokio::test]
async fn lost_fence_is_raised_on_a_majority() -> Result<()> {
    let database = sqlite_database()?;
    let pool = furnished::<Sqlite>(&database.url).await?;
    let redlock = Redlock::memory(3)?;
    let early = redlock.lock("stock/42").ttl(TTL).acquire_anchored(&pool).await?;
    let ahead = early.fence().0 + 86_400_000_000;
    let mut connection = pool.acquire().await?;
    assert!(Sqlite::check_at_write(&mut connection, "stock/42", i64::try_from(ahead)?).await?);
    drop(connection);
    assert!(matches!(early.begin(&pool).await, Err(FenceError::Fenced { .. })));
    assert_eq!(early.lost().await.reason, LossReason::Fenced);
    drop(early);
    let late = redlock.lock("stock/42").ttl(TTL).acquire().await?;
    assert!(late.fence().0 < ahead);
    add_one(&late, &pool).await?;
    assert!(late.fence().0 > ahead);
    let healed = late.fence();
    late.release().await?;
    let next = redlock.another_process().lock("stock/42").ttl(TTL).acquire().await?;
    assert!(next.fence() > healed);
    add_one(&next, &pool).await?;
    assert_eq!(Sqlite::amount(&mut *pool.acquire().await?).await?, 2);
    Ok(())
}
