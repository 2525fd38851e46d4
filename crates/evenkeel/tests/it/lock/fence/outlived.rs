//! K1 for writes that arrive after their lock, or their process, has ended. In each story both holders try to write one more than they
//! read; an update is lost if the database accepted more writes than its row shows.
//!
//! * **killed**: the process dies while its last message to the database is on its way, and the message arrives when the next
//!   holder has read.
//! * **cut off**: the process cannot reach Redis any more, and goes on.
//! * **failed over**: Redis is replaced by a replica that was cut off before the lock was acquired, and that knows nothing of it; with
//!   the fence first also one whose clock is an hour behind, so that its fences are lower than those the database has seen.

use super::holder::{Half, LONG, SHELF, Way, WorkerConfig, prepared, running, worker_that_has_read, written};
use super::shelf::{Shelf, furnished};
use anyhow::Result;
use evenkeel::Keel;
use evenkeel::lock::Wait;
use sqlx::Pool;
use std::future::Future;
use testkit::eventually;
use testkit::park::{mariadb_database, postgres_database};
use testkit::proxy::{Direction, Flow, Proxy};
use testkit::servers::{Redis, RedisOptions};

/// What happens to the first holder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Killed,
    CutOff,
    FailedOver,
    /// The same, and the clock of the new server is behind.
    FailedOverBack,
}

/// A database as a story finds it.
struct Place<'a, S: Shelf> {
    database: &'a str,
    port: u16,
    is_postgres: bool,
    pool: Pool<S>,
}

impl<S: Shelf> Place<'_, S> {
    fn config(&self, redis: String, way: Way) -> WorkerConfig {
        WorkerConfig { redis, database: self.database.to_owned(), is_postgres: self.is_postgres, way }
    }

    async fn amount(&self) -> Result<i64> {
        Ok(S::amount(&mut *self.pool.acquire().await?).await?)
    }

    /// Whether the database accepted more writes than the row shows.
    async fn has_lost(&self, first: bool, second: bool) -> Result<bool> {
        assert!(second, "the later holder is never refused");
        Ok(self.amount().await? < i64::from(first) + i64::from(second))
    }

    async fn killed(&self, way: Way) -> Result<bool> {
        let redis = Redis::start(RedisOptions::new()).await?;
        let keel = running(&redis.url(), &self.pool).await?;
        let proxy = Proxy::start(self.port, 1).await?;
        let config = WorkerConfig { database: proxy.url(self.database), ..self.config(redis.url(), way) };
        let mut worker = worker_that_has_read(&config).await?;
        prepared(&mut worker).await?;
        proxy.set(Direction::ToServer, Flow::Stall);
        let before = proxy.counters().bytes_from_clients;
        worker.say("go")?;
        proxy.wait_until("its last message", |counters| counters.bytes_from_clients > before).await?;
        worker.process().kill()?;
        let other = Half::read(keel.lock(SHELF).ttl(LONG).wait(Wait::Forever), &self.pool, way).await?;
        proxy.heal();
        // All messages in flight have been delivered and processed.
        proxy.wait_until("the server closes", |counters| counters.open == 0).await?;
        let first = self.amount().await? > other.read;
        self.has_lost(first, other.write().await?).await
    }

    async fn cut_off(&self, way: Way) -> Result<bool> {
        let redis = Redis::start(RedisOptions::new()).await?;
        let keel = running(&redis.url(), &self.pool).await?;
        let proxy = Proxy::start(redis.port(), 1).await?;
        let worker = worker_that_has_read(&self.config(proxy.url(&redis.url()), way)).await?;
        proxy.refuse(true).await?;
        proxy.cut();
        let other = Half::read(keel.lock(SHELF).ttl(LONG).wait(Wait::Forever), &self.pool, way).await?;
        let first = written(worker).await?;
        self.has_lost(first, other.write().await?).await
    }

    async fn failed_over(&self, way: Way, is_clock_behind: bool) -> Result<bool> {
        let mut primary = Redis::start(RedisOptions::new()).await?;
        let replica = Redis::start(RedisOptions::new().replica_of(primary.port())).await?;
        running(&primary.url(), &self.pool).await?;
        // It has the changes so far, and no later ones.
        eventually("the replica follows", || async {
            replica.command::<usize>(&["DBSIZE"]).await.ok().filter(|keys| *keys > 0)
        })
        .await?;
        replica.command::<()>(&["REPLICAOF", "NO", "ONE"]).await?;
        let worker = worker_that_has_read(&self.config(primary.url(), way)).await?;
        primary.kill()?;
        if is_clock_behind {
            let (seconds, _): (u64, u64) = replica.command(&["TIME"]).await?;
            let hour_ago_ms = ((seconds - 3_600) * 1_000).to_string();
            replica.command::<()>(&["SET", "evenkeel:test:now_ms", &hour_ago_ms]).await?;
        }
        let keel = Keel::connect(&replica.url()).await?;
        let other = Half::read(keel.lock(SHELF).ttl(LONG), &self.pool, way).await?;
        let first = written(worker).await?;
        self.has_lost(first, other.write().await?).await
    }

    async fn lost(&self, way: Way, fate: Fate) -> Result<bool> {
        match fate {
            Fate::Killed => self.killed(way).await,
            Fate::CutOff => self.cut_off(way).await,
            Fate::FailedOver => self.failed_over(way, false).await,
            Fate::FailedOverBack => self.failed_over(way, true).await,
        }
    }
}

fn port(url: &str) -> Result<u16> {
    let host = url.split('@').nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default();
    Ok(host.rsplit(':').next().unwrap_or_default().parse()?)
}

async fn lost_on_mariadb(way: Way, fate: Fate) -> Result<bool> {
    let database = mariadb_database().await?;
    let (url, pool) = (database.url.as_str(), furnished::<sqlx::MySql>(&database.url).await?);
    Place { database: url, port: port(url)?, is_postgres: false, pool }.lost(way, fate).await
}

async fn lost_on_postgres(way: Way, fate: Fate) -> Result<bool> {
    let database = postgres_database().await?;
    let (url, pool) = (database.url.as_str(), furnished::<sqlx::Postgres>(&database.url).await?);
    Place { database: url, port: port(url)?, is_postgres: true, pool }.lost(way, fate).await
}

/// Several stories at once: most of their time they wait for a lease to end.
async fn all(mariadb: &[(Way, Fate)], postgres: &[(Way, Fate)], expected: bool) -> Result<()> {
    let reported = |name: &'static str, way: Way, lost: Result<bool>| -> Result<()> {
        assert_eq!(lost?, expected, "{way:?} on {name}");
        Ok(())
    };
    let on_mariadb = in_turn(mariadb, async |way, fate| reported("MariaDB", way, lost_on_mariadb(way, fate).await));
    let on_postgres =
        in_turn(postgres, async |way, fate| reported("PostgreSQL", way, lost_on_postgres(way, fate).await));
    tokio::try_join!(on_mariadb, on_postgres).map(drop)
}

async fn in_turn(stories: &[(Way, Fate)], check_story: impl AsyncFn(Way, Fate) -> Result<()>) -> Result<()> {
    for (way, fate) in stories {
        check_story(*way, *fate).await?;
    }
    Ok(())
}

/// Boxed: the futures of several stories are large.
fn boxed<'a>(
    future: impl Future<Output = Result<()>> + 'a,
) -> std::pin::Pin<Box<dyn Future<Output = Result<()>> + 'a>> {
    Box::pin(future)
}

// shows: K1, lock::Guard
#[tokio::test]
async fn missing_fence_loses_an_update() -> Result<()> {
    let mariadb = [(Way::Unfenced, Fate::Killed), (Way::Unfenced, Fate::FailedOver)];
    let postgres = [(Way::Unfenced, Fate::CutOff), (Way::Unfenced, Fate::Killed)];
    boxed(all(&mariadb, &postgres, true)).await
}

// shows: K1
#[tokio::test]
async fn fence_checked_only_at_write_loses_an_update() -> Result<()> {
    let mariadb = [(Way::AtWrite, Fate::CutOff), (Way::AtWrite, Fate::Killed)];
    let postgres = [(Way::AtWrite, Fate::Killed), (Way::AtWrite, Fate::FailedOver)];
    boxed(all(&mariadb, &postgres, true)).await
}

/// A message in flight when its process died.
// shows: K1, lock::FencedTransaction::tx, lock::FencedTransaction::commit, lock::FencedTransaction::rollback
#[tokio::test]
async fn fence_first_rejects_late_update_of_killed_holder() -> Result<()> {
    let both = [(Way::Begin, Fate::Killed), (Way::Anchor, Fate::Killed)];
    boxed(all(&both, &both, false)).await
}

// shows: K1
#[tokio::test]
async fn fence_first_rejects_update_of_disconnected_holder() -> Result<()> {
    let both = [(Way::Begin, Fate::CutOff), (Way::Anchor, Fate::CutOff)];
    boxed(all(&both, &both, false)).await
}

// shows: K1
#[tokio::test]
async fn fence_first_loses_no_update_across_failover() -> Result<()> {
    let both = [(Way::Begin, Fate::FailedOver), (Way::Anchor, Fate::FailedOver)];
    boxed(all(&both, &both, false)).await
}

/// Fences are derived from the server's time: a new primary whose clock is behind issues fences that the database has seen.
// shows: K1
#[tokio::test]
async fn fence_first_survives_failover_to_an_earlier_clock() -> Result<()> {
    let both = [(Way::Begin, Fate::FailedOverBack), (Way::Anchor, Fate::FailedOverBack)];
    boxed(all(&both, &both, false)).await
}
