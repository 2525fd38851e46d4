//! A holder during a read-modify-write of the shelf: in the test itself, and as a process that can be stopped and
//! killed.

use super::shelf::{Shelf, open};
use anyhow::{Context, Result};
use evenkeel::Keel;
use evenkeel::lock::{FencedTransaction, Guard, LockBuilder};
use serde::{Deserialize, Serialize};
use sqlx::pool::PoolConnection;
use sqlx::{Pool, Transaction};
use std::time::Duration;
use testkit::process::{Station, Worker};

/// The lease of a worker: short, because the tests wait for its end.
pub(super) const SHORT: Duration = Duration::from_millis(900);
/// The lease of the test's own holder.
pub(super) const LONG: Duration = Duration::from_secs(60);
/// What is locked.
pub(super) const SHELF: &str = "stock/42";

/// How the row is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Way {
    /// By the lock alone.
    Unfenced,
    /// By a fence that is stored and checked when something is written.
    AtWrite,
    /// By a transaction that begins with the fence.
    Begin,
    /// By a fence that was committed before the guard was handed out.
    Anchor,
}

/// The configuration of a worker.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct WorkerConfig {
    pub(super) redis: String,
    pub(super) database: String,
    pub(super) is_postgres: bool,
    pub(super) way: Way,
}

/// A holder that has read.
pub(super) struct Half<S: Shelf> {
    guard: Guard,
    way: Way,
    pool: Pool<S>,
    connection: Option<PoolConnection<S>>,
    work: Option<FencedTransaction<S>>,
    pub(super) read: i64,
}

/// A holder whose next message to the database commits its change.
pub(super) enum Ready<S: Shelf> {
    /// The database has already rejected a statement.
    Refused,
    Put(PoolConnection<S>, i64),
    Commit(Transaction<'static, S>),
    CommitFenced(FencedTransaction<S>),
}

impl<S: Shelf> Half<S> {
    pub(super) async fn read(lock: LockBuilder, pool: &Pool<S>, way: Way) -> Result<Self> {
        let pool = pool.clone();
        let (mut connection, mut work) = (None, None);
        let (guard, read) = match way {
            Way::Unfenced => {
                let guard = lock.acquire().await?;
                let read = S::amount(&mut *connection.insert(pool.acquire().await?)).await?;
                (guard, read)
            }
            Way::AtWrite => (lock.acquire().await?, S::amount(&mut *pool.acquire().await?).await?),
            Way::Anchor => (lock.acquire_anchored(&pool).await?, S::amount(&mut *pool.acquire().await?).await?),
            Way::Begin => {
                let guard = lock.acquire().await?;
                let read = S::amount(work.insert(guard.begin(&pool).await?).tx()?).await?;
                (guard, read)
            }
        };
        Ok(Self { guard, way, pool, connection, work, read })
    }

    /// Executes everything except the commit.
    pub(super) async fn prepare(self) -> Result<(Guard, Ready<S>)> {
        let amount = self.read + 1;
        let ready = match self.way {
            Way::Unfenced => Ready::Put(self.connection.context("it has read over one")?, amount),
            Way::AtWrite => {
                let mut transaction = self.pool.begin().await?;
                let fence = i64::try_from(self.guard.fence().0)?;
                if S::check_at_write(&mut transaction, SHELF, fence).await? {
                    S::put(&mut transaction, amount).await?;
                    Ready::Commit(transaction)
                } else {
                    Ready::Refused
                }
            }
            Way::Begin => {
                let mut work = self.work.context("it has begun")?;
                // The server may have ended the transaction of a stopped holder.
                if S::put(work.tx()?, amount).await.is_ok() { Ready::CommitFenced(work) } else { Ready::Refused }
            }
            Way::Anchor => match self.guard.begin(&self.pool).await {
                Ok(mut work) => {
                    S::put(work.tx()?, amount).await?;
                    Ready::CommitFenced(work)
                }
                Err(_) => Ready::Refused,
            },
        };
        Ok((self.guard, ready))
    }

    /// Writes the result of its read; returns whether the database accepted it.
    pub(super) async fn write(self) -> Result<bool> {
        let (_guard, ready) = self.prepare().await?;
        ready.finish().await
    }
}

impl<S: Shelf> Ready<S> {
    /// Commits; returns whether the database accepted it.
    pub(super) async fn finish(self) -> Result<bool> {
        match self {
            Self::Refused => Ok(false),
            Self::Put(mut connection, amount) => Ok(S::put(&mut connection, amount).await.is_ok()),
            Self::Commit(transaction) => Ok(transaction.commit().await.is_ok()),
            Self::CommitFenced(work) => Ok(work.commit().await.is_ok()),
        }
    }
}

/// A keel, and on it the row that fences are stored in, as in a system that has been running.
pub(super) async fn running<S: Shelf>(redis: &str, pool: &Pool<S>) -> Result<Keel> {
    let keel = Keel::connect(redis).await?;
    keel.lock(SHELF).acquire_anchored(pool).await?.release().await?;
    Ok(keel)
}

/// A process that has read the empty shelf. It does not look at its own clock: the test is about the database.
pub(super) async fn worker_that_has_read(config: &WorkerConfig) -> Result<Worker> {
    let blind = [("EVENKEEL_MUTANT", "lock_local_deadline")];
    let mut worker = Worker::start_with("lock::fence::holder::worker", &blind)?;
    worker.say(config)?;
    let read: i64 = worker.receive().await?;
    assert_eq!(read, 0);
    Ok(worker)
}

/// Lets a worker execute everything except the commit.
pub(super) async fn prepared(worker: &mut Worker) -> Result<()> {
    worker.say("prepare")?;
    let _: String = worker.receive().await?;
    Ok(())
}

/// Lets a worker commit; returns whether the database accepted it.
pub(super) async fn written(mut worker: Worker) -> Result<bool> {
    prepared(&mut worker).await?;
    worker.say("go")?;
    let took = worker.receive().await?;
    worker.finish().await?;
    Ok(took)
}

/// A process in the middle of a read-modify-write, for as long as the test says.
#[tokio::test]
#[ignore = "a worker of the tests of this folder"]
async fn worker() -> Result<()> {
    let Some(mut station) = Station::open()? else { return Ok(()) };
    let config: WorkerConfig = station.receive().await?;
    match config.is_postgres {
        true => work::<sqlx::Postgres>(&mut station, &config).await,
        false => work::<sqlx::MySql>(&mut station, &config).await,
    }
}

async fn work<S: Shelf>(station: &mut Station, config: &WorkerConfig) -> Result<()> {
    let pool = open::<S>(&config.database).await?;
    let keel = Keel::connect(&config.redis).await?;
    let half = Half::<S>::read(keel.lock(SHELF).ttl(SHORT), &pool, config.way).await?;
    station.say(&half.read)?;
    let _: String = station.receive().await?;
    let (_guard, ready) = half.prepare().await?;
    station.say("ready")?;
    let _: String = station.receive().await?;
    station.say(&ready.finish().await?)?;
    station.until_finish().await;
    Ok(())
}
