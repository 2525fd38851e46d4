//! One process of the fleet: eight tasks that read fresh and write in windows, and report what they observed.

use evenkeel::Keel;
use evenkeel::cache::{Cache, Freshness, OpenWindow, Tier, WhileWriting, WriteError};
use evenkeel::link::LinkOptions;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use testkit::history::{Act, EventTime, Operation};
use testkit::process::Station;

const TASKS: u64 = 8;
const OPERATIONS: usize = 30;
const KEYS: u64 = 4;

/// A command to a process.
#[derive(Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) process: usize,
    pub(super) url: String,
    pub(super) prefix: String,
    pub(super) database: PathBuf,
}

/// A message of a process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    Ready,
    Read {
        operation: Operation<u64>,
        from_store: bool,
    },
    ReadFailed,
    /// The statement was sent, the commit was not.
    Writing {
        number: u64,
        operation: Operation<u64>,
    },
    /// The commit was acknowledged; whether its window was still open.
    Committed {
        is_covered: bool,
    },
    /// The write has returned to its caller.
    Acknowledged {
        number: u64,
        at: EventTime,
    },
    /// It certainly did not happen.
    Refused {
        number: u64,
    },
    Done,
}

#[derive(Clone)]
struct Process {
    rows: Cache<String, u64>,
    pool: SqlitePool,
    station: Arc<Mutex<Station>>,
    numbers: Arc<AtomicU64>,
    process: u64,
}

/// The result of the statement.
enum Failure {
    /// Rolled back.
    Refused,
    /// The commit received no reply.
    Unknown,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a worker of the histories"]
async fn process() {
    let Some(mut station) = Station::open().unwrap() else { return };
    let plan: Plan = station.receive().await.unwrap();
    let (rows, pool) = (open_cache(&plan).await, open_database(&plan).await);
    station.say(&Report::Ready).unwrap();
    let () = station.receive().await.unwrap();
    let station = Arc::new(Mutex::new(station));
    let process = Process { rows, pool, station, numbers: Arc::default(), process: plan.process as u64 };
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let random = StdRng::seed_from_u64(plan.seed * 1_000 + plan.process as u64 * 100 + task);
            tokio::spawn(process.clone().work(random))
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    process.say(&Report::Done);
    process.run_until_finish().await;
}

async fn open_cache(plan: &Plan) -> Cache<String, u64> {
    let separator = if plan.url.contains('?') { '&' } else { '?' };
    let quick = format!("{}{separator}response_timeout_ms=150&connect_timeout_ms=200&heartbeat_ms=100", plan.url);
    let mut options = LinkOptions::from_url(&quick).unwrap();
    options.prefix.clone_from(&plan.prefix);
    // On a busy machine a handshake may take longer than these short time-outs.
    let connected =
        testkit::eventually("Redis replies", async || Keel::builder().connect_with(options.clone()).await.ok());
    let keel = connected.await.unwrap();
    let rows = keel.cache("row").ttl(Duration::from_secs(60)).write_window(Duration::from_millis(600));
    let rows = rows.transaction_max(Duration::from_secs(2)).suspect_ttl(Duration::from_millis(200)).strong();
    let while_writing = if plan.seed.is_multiple_of(2) { WhileWriting::Wait } else { WhileWriting::Load };
    rows.lease(Duration::from_millis(300)).while_writing(while_writing).open().await.unwrap()
}

async fn open_database(plan: &Plan) -> SqlitePool {
    let options = SqliteConnectOptions::new()
        .filename(&plan.database)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Off)
        .busy_timeout(Duration::from_secs(1));
    SqlitePoolOptions::new().max_connections(4).connect_with(options).await.unwrap()
}

impl Process {
    async fn work(self, mut random: StdRng) {
        for _ in 0..OPERATIONS {
            let key = format!("row-{}", random.random_range(0..KEYS));
            if random.random_bool(0.1) {
                self.write(key, random.random_bool(0.5)).await;
            } else {
                self.read(key).await;
            }
        }
    }

    async fn read(&self, key: String) {
        let invoked = EventTime::machine_wide();
        let found = self.rows.get_with(&key, Freshness::Fresh, |key| find(self.pool.clone(), key.clone())).await;
        let returned = Some(EventTime::machine_wide());
        self.say(&match found {
            Err(_) => Report::ReadFailed,
            Ok(found) => {
                let act = Act::Read(found.value.as_deref().copied());
                let operation = Operation { process: self.process, key, act, invoked, returned };
                Report::Read { operation, from_store: found.tier == Tier::Store }
            }
        });
    }

    async fn write(&self, key: String, checks: bool) {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let invoked = EventTime::machine_wide();
        let written = self
            .rows
            .write_with(&key, |window| {
                let key = key.clone();
                async move { self.commit(number, key, invoked, &window, checks).await }
            })
            .await;
        match written {
            Ok(_) => self.say(&Report::Acknowledged { number, at: EventTime::machine_wide() }),
            Err(WriteError::Failed(Failure::Unknown)) => {}
            Err(_) => self.say(&Report::Refused { number }),
        }
    }

    /// One transaction that raises the row's version by one.
    async fn commit(
        &self,
        number: u64,
        key: String,
        invoked: EventTime,
        window: &OpenWindow,
        checks: bool,
    ) -> Result<(), Failure> {
        let refused = |_| {
            window.rolled_back();
            Failure::Refused
        };
        let mut transaction = self.pool.begin_with("BEGIN IMMEDIATE").await.map_err(refused)?;
        let version: i64 = sqlx::query_scalar(
            "INSERT INTO rows (key, version) VALUES (?, 1) ON CONFLICT (key) DO UPDATE SET version = version + 1 RETURNING version",
        )
        .bind(&key)
        .fetch_one(&mut *transaction)
        .await
        .map_err(refused)?;
        let act = Act::Write(Some(version.unsigned_abs()));
        let operation = Operation { process: self.process, key, act, invoked, returned: None };
        self.say(&Report::Writing { number, operation });
        if checks && window.check().await.is_err() {
            transaction.rollback().await.map_err(|_| Failure::Unknown)?;
            window.rolled_back();
            return Err(Failure::Refused);
        }
        let committed = transaction.commit().await;
        self.say(&Report::Committed { is_covered: !window.remaining().is_zero() });
        committed.map_err(|_| Failure::Unknown)
    }

    fn say(&self, report: &Report) {
        self.station.lock().unwrap().say(report).unwrap();
    }

    async fn run_until_finish(self) {
        if let Some(station) = Arc::into_inner(self.station) {
            station.into_inner().unwrap().until_finish().await;
        }
    }
}

async fn find(pool: SqlitePool, key: String) -> Result<Option<u64>, sqlx::Error> {
    let version: Option<i64> =
        sqlx::query_scalar("SELECT version FROM rows WHERE key = ?").bind(key).fetch_optional(&pool).await?;
    Ok(version.map(i64::unsigned_abs))
}
