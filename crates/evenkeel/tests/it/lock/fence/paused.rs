//! K1 with processes that are really stopped: a read-modify-write of a row by a worker that is paused beyond its lease, while
//! another holder does the same. Without a fence, and with one that is stored only at the write, an update is lost; with the fence
//! first there is none. The same after everything in Redis was flushed.

use super::shelf::{Shelf, furnished, open};
use anyhow::{Context, Result};
use evenkeel::Keel;
use evenkeel::lock::{FencedTransaction, Guard, LockBuilder, Wait};
use serde::{Deserialize, Serialize};
use sqlx::Pool;
use std::time::Duration;
use testkit::park::{mariadb_database, postgres_database};
use testkit::process::{Station, Worker};
use testkit::servers::{Redis, RedisOptions};

/// The paused worker's lease: as short as may be, for it is waited out.
const SHORT: Duration = Duration::from_millis(900);
const LONG: Duration = Duration::from_secs(60);

/// How the row is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Way {
    /// By the lock alone.
    Unfenced,
    /// By a fence that is stored and checked when something is written.
    AtWrite,
    /// By a transaction that begins with the fence.
    Begin,
    /// By a fence that was committed before the guard was handed out.
    Anchor,
}

/// How the worker's lock ends while it is paused.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Expiry,
    Flush,
}

#[derive(Clone, Serialize, Deserialize)]
struct Open {
    redis: String,
    database: String,
    is_postgres: bool,
    way: Way,
}

/// Somebody in the middle of a read-modify-write.
struct Half<S: Shelf> {
    guard: Guard,
    way: Way,
    pool: Pool<S>,
    work: Option<FencedTransaction<S>>,
    read: i64,
}

impl<S: Shelf> Half<S> {
    async fn read(lock: LockBuilder, pool: &Pool<S>, way: Way) -> Result<Self> {
        let pool = pool.clone();
        let mut work = None;
        let (guard, read) = match way {
            Way::Unfenced | Way::AtWrite => (lock.acquire().await?, S::amount(&mut *pool.acquire().await?).await?),
            Way::Anchor => (lock.acquire_anchored(&pool).await?, S::amount(&mut *pool.acquire().await?).await?),
            Way::Begin => {
                let guard = lock.acquire().await?;
                let mut begun = guard.begin(&pool).await?;
                let read = S::amount(begun.tx()).await?;
                work = Some(begun);
                (guard, read)
            }
        };
        Ok(Self { guard, way, pool, work, read })
    }

    /// Writes what it made of what it read; whether the database took it.
    async fn write(self) -> Result<bool> {
        let amount = self.read + 1;
        match self.way {
            Way::Unfenced => S::put(&mut *self.pool.acquire().await?, amount).await?,
            Way::AtWrite => {
                let mut transaction = self.pool.begin().await?;
                let fence = i64::try_from(self.guard.fence().0)?;
                if !S::check_at_write(&mut transaction, "stock/42", fence).await? {
                    return Ok(false);
                }
                S::put(&mut transaction, amount).await?;
                transaction.commit().await?;
            }
            Way::Begin => {
                let mut work = self.work.context("it has begun")?;
                return Ok(S::put(work.tx(), amount).await.is_ok() && work.commit().await.is_ok());
            }
            Way::Anchor => {
                let Ok(mut work) = self.guard.begin(&self.pool).await else { return Ok(false) };
                S::put(work.tx(), amount).await?;
                work.commit().await?;
            }
        }
        Ok(true)
    }
}

async fn keel(redis: &str) -> Result<Keel> {
    Ok(Keel::connect(redis).await?)
}

/// Plays it; whether an update was lost.
async fn play<S: Shelf>(database: &str, is_postgres: bool, way: Way, end: End) -> Result<bool> {
    let redis = Redis::start(RedisOptions::new()).await?;
    let pool = furnished::<S>(database).await?;
    let keel = keel(&redis.url()).await?;
    // The row that fences are stored in is there, as in a system that has been running.
    keel.lock("stock/42").acquire_anchored(&pool).await?.release().await?;

    // The worker does not look at its own clock: here the database is on trial.
    let blind = [("EVENKEEL_MUTANT", "lock_local_deadline")];
    let mut worker = Worker::start_with("lock::fence::paused::worker", &blind)?;
    worker.say(&Open { redis: redis.url(), database: database.to_owned(), is_postgres, way })?;
    let read: i64 = worker.hear().await?;
    assert_eq!(read, 0);
    worker.process().pause()?;
    if end == End::Flush {
        redis.command::<()>(&["FLUSHALL"]).await?;
    }
    let lock = keel.lock("stock/42").ttl(LONG).wait(Wait::Forever);
    let other = Half::read(lock, &pool, way).await?;
    worker.say(&"go")?;
    worker.process().resume()?;
    let first: bool = worker.hear().await?;
    let second = other.write().await?;
    worker.finish().await?;
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

#[tokio::test]
async fn without_a_fence_an_update_is_lost() -> Result<()> {
    assert!(lost_on_mariadb(Way::Unfenced, End::Expiry).await?);
    assert!(lost_on_postgres(Way::Unfenced, End::Flush).await?);
    Ok(())
}

#[tokio::test]
async fn with_a_fence_only_at_the_write_an_update_is_lost() -> Result<()> {
    assert!(lost_on_mariadb(Way::AtWrite, End::Flush).await?);
    assert!(lost_on_postgres(Way::AtWrite, End::Expiry).await?);
    Ok(())
}

#[tokio::test]
async fn with_the_fence_first_no_update_is_lost_on_mariadb() -> Result<()> {
    assert!(!lost_on_mariadb(Way::Begin, End::Expiry).await?);
    assert!(!lost_on_mariadb(Way::Begin, End::Flush).await?);
    Ok(())
}

#[tokio::test]
async fn with_the_fence_first_no_update_is_lost_on_postgres() -> Result<()> {
    assert!(!lost_on_postgres(Way::Begin, End::Expiry).await?);
    assert!(!lost_on_postgres(Way::Begin, End::Flush).await?);
    Ok(())
}

#[tokio::test]
async fn with_an_anchor_no_update_is_lost() -> Result<()> {
    assert!(!lost_on_mariadb(Way::Anchor, End::Expiry).await?);
    assert!(!lost_on_mariadb(Way::Anchor, End::Flush).await?);
    assert!(!lost_on_postgres(Way::Anchor, End::Expiry).await?);
    assert!(!lost_on_postgres(Way::Anchor, End::Flush).await?);
    Ok(())
}

/// A process in the middle of a read-modify-write, for as long as it is told to be.
#[tokio::test]
#[ignore = "a worker of the tests of this file"]
async fn worker() -> Result<()> {
    let Some(mut station) = Station::open()? else { return Ok(()) };
    let open: Open = station.hear().await?;
    match open.is_postgres {
        true => work::<sqlx::Postgres>(&mut station, &open).await,
        false => work::<sqlx::MySql>(&mut station, &open).await,
    }
}

async fn work<S: Shelf>(station: &mut Station, told: &Open) -> Result<()> {
    let pool = open::<S>(&told.database).await?;
    let keel = keel(&told.redis).await?;
    let half = Half::<S>::read(keel.lock("stock/42").ttl(SHORT), &pool, told.way).await?;
    station.say(&half.read)?;
    let _: String = station.hear().await?;
    station.say(&half.write().await?)?;
    station.until_finish().await;
    Ok(())
}
