//! One process: tasks that commit random transactions and read accounts through the caches, and a relay.

use super::super::rig::{Sql, pool};
use super::servers::{Account, Open, Shop, name};
use super::transaction::{End, Transaction};
use evenkeel::sql::SqlError;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use sqlx::Pool;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use testkit::process::Station;
use tokio::sync::{mpsc, oneshot};

/// Longer than twice the deadline of a relay's step.
const LEASE: Duration = Duration::from_secs(25);

/// Results of transactions since the last report.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Report {
    pub(super) committed: u64,
    /// Of these, those whose effects were all carried out before the commit returned.
    pub(super) at_once: u64,
    pub(super) rolled_back: u64,
    /// Rolled back before the commit, because a strong cache's window was not confirmed.
    pub(super) refused: u64,
    /// Deadlocks, and other ends that are to be tried again.
    pub(super) failed: u64,
    pub(super) unknown: u64,
}

impl Report {
    /// Transactions that have ended.
    pub(super) fn ended(&self) -> u64 {
        self.committed + self.rolled_back + self.refused + self.failed + self.unknown
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.committed += other.committed;
        self.at_once += other.at_once;
        self.rolled_back += other.rolled_back;
        self.refused += other.refused;
        self.failed += other.failed;
        self.unknown += other.unknown;
    }

    fn of(error: &SqlError) -> Self {
        match error {
            SqlError::Window(_) => Self { refused: 1, ..Self::default() },
            error if error.outcome_unknown() => Self { unknown: 1, ..Self::default() },
            error if error.is_retryable() => Self { failed: 1, ..Self::default() },
            error => panic!("a transaction ended with {error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a worker of the simulation"]
async fn process() {
    let Some(mut station) = Station::open().unwrap() else { return };
    let open: Open = station.receive().await.unwrap();
    if open.database.starts_with("mysql") {
        Box::pin(work::<sqlx::MySql>(open, station)).await;
    } else {
        Box::pin(work::<sqlx::Postgres>(open, station)).await;
    }
}

async fn work<DB: Sql>(open: Open, mut station: Station) {
    let pool = pool::<DB>(&open.database, 12).await;
    let shop = Arc::new(Shop::open(&open).await);
    let relay = shop.keel.relay(&pool).sinks(shop.sinks.clone()).lease(LEASE);
    let (stop, stopped) = oneshot::channel::<()>();
    let relaying = tokio::spawn(async move { relay.run(async { _ = stopped.await }).await });
    let (said, mut ended) = mpsc::unbounded_channel();
    let is_over = Arc::new(AtomicBool::new(false));
    let tasks: Vec<_> = (0..open.tasks)
        .map(|task| {
            let random = StdRng::seed_from_u64(open.seed * 1_000_000 + open.process * 100 + task);
            let teller = Teller { pool: pool.clone(), shop: Arc::clone(&shop), open: open.clone(), said: said.clone() };
            tokio::spawn(Box::pin(teller.go_on(random, Arc::clone(&is_over))))
        })
        .collect();
    drop(said);
    let mut report = Report::default();
    loop {
        tokio::select! {
            () = station.until_finish() => break,
            one = ended.recv() => report.add(&one.expect("a task has ended by itself")),
        }
        if report.ended() >= open.report_every {
            station.say(&std::mem::take(&mut report)).unwrap();
        }
    }
    is_over.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.unwrap();
    }
    stop.send(()).unwrap();
    relaying.await.unwrap();
    shop.keel.until_marked(&pool).await;
}

/// One task.
struct Teller<DB: Sql> {
    pool: Pool<DB>,
    shop: Arc<Shop>,
    open: Open,
    said: mpsc::UnboundedSender<Report>,
}

impl<DB: Sql> Teller<DB> {
    async fn go_on(self, mut random: StdRng, is_over: Arc<AtomicBool>) {
        while !is_over.load(Ordering::Relaxed) {
            // Entries that no process loads cannot be stale.
            for _ in 0..3 {
                self.read(random.random_range(0..self.open.accounts)).await;
            }
            let transaction = Transaction::draw(&mut random, &self.open);
            let ended = if transaction.is_joined {
                Box::pin(self.joined(&transaction)).await
            } else {
                Box::pin(self.owned(&transaction)).await
            };
            let report = ended.unwrap_or_else(|error| Report::of(&error));
            if self.said.send(report).is_err() {
                return;
            }
        }
    }

    /// What it finds does not matter here: Redis may be away.
    async fn read(&self, account: u64) {
        let (pool, key) = (self.pool.clone(), name("accounts", account));
        let load = load::<DB>(pool, key.clone());
        _ = Box::pin(self.shop.cache(account).get(&key, |_| load)).await;
    }

    async fn owned(&self, transaction: &Transaction) -> Result<Report, SqlError> {
        let mut work = self.shop.keel.begin(&self.pool).await?;
        let id = work.id().to_string();
        let written = transaction.write::<DB>(work.tx(), id, self.open.process).await;
        let versions = work.watch(written).map(Some).or_else(conflict)?;
        let Some(versions) = versions else { return Ok(Report { failed: 1, ..Report::default() }) };
        let nameless = transaction.note(&mut work, &self.shop, &versions)?;
        transaction.nameless::<DB>(work.tx(), nameless).await?;
        match transaction.end {
            End::Commit => {
                let committed = work.commit().await?;
                Ok(Report { committed: 1, at_once: u64::from(committed.carried_out), ..Report::default() })
            }
            End::RollBack => work.rollback().await.map(|()| Report { rolled_back: 1, ..Report::default() }),
            End::Drop => {
                drop(work);
                Ok(Report { rolled_back: 1, ..Report::default() })
            }
        }
    }

    async fn joined(&self, transaction: &Transaction) -> Result<Report, SqlError> {
        let mut held = self.pool.begin().await?;
        let mut work = self.shop.keel.join(&mut held).await?;
        let id = work.id().to_string();
        let versions = transaction.write::<DB>(&mut held, id, self.open.process).await;
        let versions = versions.map(Some).or_else(conflict)?;
        let Some(versions) = versions else { return Ok(Report { failed: 1, ..Report::default() }) };
        let nameless = transaction.note(&mut work, &self.shop, &versions)?;
        transaction.nameless::<DB>(&mut held, nameless).await?;
        let sealed = work.seal(&mut held).await?;
        if transaction.end == End::Commit {
            held.commit().await?;
        } else {
            held.rollback().await?;
        }
        Ok(match sealed.carry_out(&self.pool).await? {
            Some(committed) => Report { committed: 1, at_once: u64::from(committed.carried_out), ..Report::default() },
            None => Report { rolled_back: 1, ..Report::default() },
        })
    }
}

/// A deadlock, or a lock timeout: irrelevant here.
fn conflict<T>(error: sqlx::Error) -> Result<Option<T>, SqlError> {
    let code = error.as_database_error().and_then(|error| error.code()).unwrap_or_default().into_owned();
    // MySQL says HY000 of a lock wait that took too long.
    if matches!(code.as_str(), "40001" | "40P01" | "HY000") { Ok(None) } else { Err(error.into()) }
}

/// Reads an account.
pub(super) async fn load<DB: Sql>(pool: Pool<DB>, key: String) -> Result<Option<Account>, sqlx::Error> {
    let sql = format!("SELECT units, version FROM accounts WHERE name = '{key}'");
    let rows = DB::numbers(&mut *pool.acquire().await?, &sql).await?;
    Ok(rows.first().map(|(units, version)| (*units, u64::try_from(*version).unwrap())))
}
