//! K1 with processes that are really stopped: a read-modify-write of a row by a worker that is paused beyond its lease, while
//! another holder does the same. Without a fence, and with one that is stored only at the write, an update is lost; with the fence
//! first there is none. The same after everything in Redis was flushed.

use super::holder::{Half, LONG, SHELF, Way, WorkerConfig, running, worker_that_has_read, written};
use super::shelf::{Shelf, furnished};
use anyhow::Result;
use evenkeel::lock::Wait;
use testkit::park::{mariadb_database, postgres_database};
use testkit::servers::{Redis, RedisOptions};

/// How the worker's lock ends while it is paused.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Expiry,
    Flush,
}

/// Runs the story; returns whether an update was lost.
async fn play<S: Shelf>(database: &str, is_postgres: bool, way: Way, end: End) -> Result<bool> {
    let redis = Redis::start(RedisOptions::new()).await?;
    let pool = furnished::<S>(database).await?;
    let keel = running(&redis.url(), &pool).await?;
    let config = WorkerConfig { redis: redis.url(), database: database.to_owned(), is_postgres, way };
    let mut worker = worker_that_has_read(&config).await?;
    worker.process().pause()?;
    if end == End::Flush {
        redis.command::<()>(&["FLUSHALL"]).await?;
    }
    // It gets the lock when the lease of the paused one has ended, and reads.
    let other = Half::read(keel.lock(SHELF).ttl(LONG).wait(Wait::Forever), &pool, way).await?;
    worker.process().resume()?;
    let first = written(worker).await?;
    let second = other.write().await?;
    let amount = S::amount(&mut *pool.acquire().await?).await?;
    assert!(second, "the later holder is never refused");
    Ok(amount < i64::from(first) + i64::from(second))
}

async fn lost_on_mariadb(way: Way, end: End) -> Result<bool> {
    let database = mariadb_database().await?;
    play::<sqlx::MySql>(&database.url, false, way, end).await
}

async fn lost_on_postgres(way: Way, end: End) -> Result<bool> {
    let database = postgres_database().await?;
    play::<sqlx::Postgres>(&database.url, true, way, end).await
}

// shows: K1, lock::ExclusiveLocks, lock::Guard
#[tokio::test]
async fn missing_fence_loses_an_update() -> Result<()> {
    assert!(lost_on_mariadb(Way::Unfenced, End::Expiry).await?);
    assert!(lost_on_postgres(Way::Unfenced, End::Flush).await?);
    Ok(())
}

// shows: K1, hazard L5, lock::Guard::begin
#[tokio::test]
async fn fence_checked_only_at_write_loses_an_update() -> Result<()> {
    assert!(lost_on_mariadb(Way::AtWrite, End::Flush).await?);
    assert!(lost_on_postgres(Way::AtWrite, End::Expiry).await?);
    Ok(())
}

// shows: K1, hazard L4, lock::Guard::begin, lock::Guard::fence_first
#[tokio::test]
async fn fence_first_loses_no_update_on_mariadb() -> Result<()> {
    assert!(!lost_on_mariadb(Way::Begin, End::Expiry).await?);
    assert!(!lost_on_mariadb(Way::Begin, End::Flush).await?);
    Ok(())
}

// shows: K1, hazard L4, lock::Guard::begin, lock::Guard::fence_first
#[tokio::test]
async fn fence_first_loses_no_update_on_postgres() -> Result<()> {
    assert!(!lost_on_postgres(Way::Begin, End::Expiry).await?);
    assert!(!lost_on_postgres(Way::Begin, End::Flush).await?);
    Ok(())
}

// shows: K1, lock::LockBuilder::acquire_anchored, lock::RwBuilder::acquire_anchored
#[tokio::test]
async fn anchored_fence_loses_no_update() -> Result<()> {
    assert!(!lost_on_mariadb(Way::Anchor, End::Expiry).await?);
    assert!(!lost_on_mariadb(Way::Anchor, End::Flush).await?);
    assert!(!lost_on_postgres(Way::Anchor, End::Expiry).await?);
    assert!(!lost_on_postgres(Way::Anchor, End::Flush).await?);
    Ok(())
}
